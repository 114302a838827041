import yard

with yard.Reporter() as reporter:
    for step in range(1, 6):
        if not reporter.report(loss=1 / step, step=step):
            break
