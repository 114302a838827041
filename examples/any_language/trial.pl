# Six steps of no training, in Perl.
use strict;
use warnings;
use JSON::PP;

my ($fd, $inode) = split /:/, $ENV{YARD_FD} // "";
my $yard;
if (defined $inode && open($yard, "+<&=", $fd) && -S $yard && (stat $yard)[1] == $inode) {
  binmode $yard;
  select((select($yard), $| = 1)[0]);
} else {
  undef $yard;
}

sub ask {
  my $line = encode_json($_[0]);
  if (!$yard) {
    print "$line\n";    # By hand: prints and goes on.
    return { t => "ok" };
  }
  syswrite($yard, "$line\n") // die "cannot write: $!\n";
  my $text = readline($yard) // die "the yard closed the report channel\n";
  my $answer = decode_json($text);
  die "refused: $answer->{error}\n" if $answer->{t} eq "error";
  return $answer;
}

my $step = 0;
if (my $checkpoint = ask({ t => "hello", v => 1 })->{checkpoint}) {
  open(my $file, "<", "$checkpoint/step") or die "cannot read $checkpoint/step: $!\n";
  chomp($step = <$file>);
}
for (my $stop = 0; $step < 6 && !$stop;) {
  ++$step;
  $stop = ask({ t => "report", m => { loss => 1 / $step }, step => $step })->{t} eq "stop";
  next unless $yard && ($stop || $step % 2 == 0);
  my $path = ask({ t => "ckpt_begin", step => $step })->{path};
  open(my $file, ">", "$path/step") or die "cannot write $path/step: $!\n";
  print $file "$step\n";
  close($file) or die "cannot write $path/step: $!\n";
  ask({ t => "ckpt_end", path => $path });
}
