// Six steps of no training, in Node.
import fs from "node:fs";

const [fd, inode] = (process.env.YARD_FD ?? "").split(":").map(Number);
let rest = Buffer.alloc(0);

function isYard() {
  try {
    const about = fs.fstatSync(fd);
    return about.isSocket() && about.ino === inode;
  } catch {
    return false;
  }
}
const hasYard = isYard();

function ask(message) {
  const line = JSON.stringify(message) + "\n";
  if (!hasYard) {
    process.stdout.write(line); // By hand: prints and goes on.
    return { t: "ok" };
  }
  fs.writeSync(fd, line);
  while (!rest.includes("\n")) {
    const more = Buffer.alloc(65536);
    const size = fs.readSync(fd, more);
    if (size === 0) throw new Error("the yard closed the report channel");
    rest = Buffer.concat([rest, more.subarray(0, size)]);
  }
  const end = rest.indexOf("\n");
  const answer = JSON.parse(rest.subarray(0, end).toString());
  rest = rest.subarray(end + 1);
  if (answer.t === "error") throw new Error(`refused: ${answer.error}`);
  return answer;
}

const { config = {}, checkpoint } = ask({ t: "hello", v: 1 });
let step = checkpoint ? Number(fs.readFileSync(`${checkpoint}/step`)) : 0;
let rate = config.lr ?? 0.1;
for (let stop = false; step < 6 && !stop; ) {
  step += 1;
  const answer = ask({ t: "report", m: { loss: rate / step }, step });
  stop = answer.t === "stop";
  for (const event of answer.events ?? []) rate = event.lr ?? rate; // From `yard tell`.
  if (hasYard && (stop || step % 2 === 0)) {
    const { path } = ask({ t: "ckpt_begin", step });
    fs.writeFileSync(`${path}/step`, `${step}\n`);
    ask({ t: "ckpt_end", path });
  }
}
