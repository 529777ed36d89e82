# One row of ns2.jsonl: `ns row.tcl key value ...` with ns-2.35 (Debian's package ns2).
# Flows behind access links of their own share one link; drop-tail, or Adaptive RED with `queue RED`.

array set g {rate 100e6 access 1e9 delay 0.005 wire 1500 rtt 0.06 cc linux:htcp jitter 5 duration 150 warmup 50 buffer 25 seed 1 queue DropTail}
foreach {key value} $argv {set g($key) $value}

set ns [new Simulator]
ns-random $g(seed)
set r1 [$ns node]
set r2 [$ns node]
if {$g(queue) == "RED"} {
  Queue/RED set bytes_ false
  Queue/RED set queue_in_bytes_ false
  Queue/RED set adaptive_ 1
  Queue/RED set mean_pktsize_ $g(wire)
  Queue/RED set thresh_ [expr 0.4 * $g(buffer)]
  Queue/RED set maxthresh_ $g(buffer)
}
$ns simplex-link $r1 $r2 $g(rate) $g(delay)s $g(queue)
$ns simplex-link $r2 $r1 $g(rate) $g(delay)s DropTail
$ns queue-limit $r1 $r2 $g(buffer)
$ns queue-limit $r2 $r1 1000000

set controllers [split $g(cc) ,]
set rtts [split $g(rtt) ,]
set count [llength $controllers]
Agent/TCP set window_ 1000000
Agent/TCP set syn_ true
set random [new RNG]
$random seed $g(seed)
for {set i 0} {$i < $count} {incr i} {
  set from [$ns node]
  set to [$ns node]
  set delay [expr [lindex $rtts $i] / 2.0 - $g(delay)]
  $ns duplex-link $from $r1 $g(access) ${delay}s DropTail
  $ns duplex-link $r2 $to $g(access) 0s DropTail
  foreach {a b} [list $from $r1 $r1 $from $r2 $to $to $r2] {$ns queue-limit $a $b 1000000}
  set name [lindex $controllers $i]
  if {[string match linux:* $name]} {
    set agent [new Agent/TCP/Linux]
    $agent set timestamps_ true
    # Ten bytes of timestamps beside the 40 of headers.
    $agent set packetSize_ [expr $g(wire) - 50]
    $ns at 0 "$agent select_ca [string range $name 6 end]"
  } else {
    set agent [new Agent/TCP/Sack1]
    $agent set packetSize_ [expr $g(wire) - 40]
    if {$name == "hstcp"} {
      $agent set windowOption_ 8
      $agent set low_window_ 38
      $agent set high_window_ 83000
      $agent set high_p_ 0.0000001
      $agent set high_decrease_ 0.1
    }
  }
  set sink [new Agent/TCPSink/Sack1]
  if {[string match linux:* $name]} {$sink set ts_echo_rfc1323_ true}
  $ns attach-agent $from $agent
  $ns attach-agent $to $sink
  $ns connect $agent $sink
  set source [new Application/FTP]
  $source attach-agent $agent
  $ns at [$random uniform 0 $g(jitter)] "$source start"
}

set monitor [$ns monitor-queue $r1 $r2 ""]
set queue [$monitor get-pkts-integrator]
proc counted {} {
  global monitor queue ns
  $queue newpoint [$ns now] [$queue set lasty_]
  list [$monitor set parrivals_] [$monitor set pdrops_] [$monitor set pdepartures_] [$queue set sum_]
}
proc report {} {
  global g before
  foreach {arrivals drops departures sum} [counted] {a d p s} $before {
    set time [expr $g(duration) - $g(warmup)]
    puts stderr "utilization [expr ($departures - $p) * $g(wire) * 8.0 / ($g(rate) * $time)]"
    puts stderr "loss_rate [expr 1.0 * ($drops - $d) / ($arrivals - $a)] drops_pkts [expr $drops - $d]"
    puts stderr "mean_queue_pkts [expr ($sum - $s) / $time]"
  }
  exit 0
}
$ns at $g(warmup) {set before [counted]}
$ns at $g(duration) report
$ns run
