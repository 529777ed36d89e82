# One row of ns2.jsonl: `ns row.tcl key value ...` with ns-2.35 (Debian's package ns2).
# New Reno and HSTCP flows behind access links of their own share a drop-tail link with a Poisson source.

array set g {rate 50e6 access 1e9 delay 0.005 wire 1500 rtt 0.1 cc newreno starts 0 duration 260 warmup 60 buffer 100 seed 1 bg 5e6}
foreach {key value} $argv {set g($key) $value}

set ns [new Simulator]
ns-random $g(seed)
set r1 [$ns node]
set r2 [$ns node]
$ns simplex-link $r1 $r2 $g(rate) $g(delay)s DropTail
$ns simplex-link $r2 $r1 $g(rate) $g(delay)s DropTail
$ns queue-limit $r1 $r2 $g(buffer)
$ns queue-limit $r2 $r1 1000000

Agent/TCP set window_ 1000000
Agent/TCP set syn_ true
set flows {}
foreach name [split $g(cc) ,] rtt [split $g(rtt) ,] start [split $g(starts) ,] {
  set from [$ns node]
  set to [$ns node]
  $ns duplex-link $from $r1 $g(access) [expr $rtt / 2.0 - $g(delay)]s DropTail
  $ns duplex-link $r2 $to $g(access) 0s DropTail
  foreach {a b} [list $from $r1 $r1 $from $r2 $to $to $r2] {$ns queue-limit $a $b 1000000}
  if {$name == "newreno"} {
    set agent [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink]
  } else {
    set agent [new Agent/TCP/Sack1]
    set sink [new Agent/TCPSink/Sack1]
    $agent set windowOption_ 8
    $agent set low_window_ 38
    $agent set high_window_ 83000
    $agent set high_p_ 0.0000001
    $agent set high_decrease_ 0.1
  }
  $agent set packetSize_ [expr $g(wire) - 40]
  $ns attach-agent $from $agent
  $ns attach-agent $to $sink
  $ns connect $agent $sink
  set source [new Application/FTP]
  $source attach-agent $agent
  $ns at $start "$source start"
  lappend flows $agent
}

# Bursts of one packet with exponential pauses are a Poisson process.
set from [$ns node]
set to [$ns node]
$ns duplex-link $from $r1 100e9 0s DropTail
$ns duplex-link $r2 $to 100e9 0s DropTail
set udp [new Agent/UDP]
$udp set packetSize_ $g(wire)
set null [new Agent/Null]
$ns attach-agent $from $udp
$ns attach-agent $to $null
$ns connect $udp $null
set background [new Application/Traffic/Exponential]
$background set packetSize_ $g(wire)
$background set burst_time_ 0
$background set rate_ 100e9
$background set idle_time_ [expr $g(wire) * 8.0 / $g(bg)]
$background attach-agent $udp
$ns at 0 "$background start"

set monitor [$ns monitor-queue $r1 $r2 ""]
set queue [$monitor get-pkts-integrator]
proc counted {} {
  global monitor queue ns flows
  $queue newpoint [$ns now] [$queue set lasty_]
  set each {}
  foreach flow $flows {
    lappend each [$flow set ack_] [$flow set ncwndcuts_] [$flow set nrexmit_] [$flow set nrexmitpack_]
  }
  list [$monitor set parrivals_] [$monitor set pdrops_] [$monitor set pdepartures_] [$queue set sum_] $each
}
proc report {} {
  global g before
  foreach {arrivals drops departures sum each} [counted] {a d p s before_each} $before {
    set time [expr $g(duration) - $g(warmup)]
    puts "utilization [expr ($departures - $p) * $g(wire) * 8.0 / ($g(rate) * $time)]"
    puts "loss_rate [expr 1.0 * ($drops - $d) / ($arrivals - $a)]"
    puts "drops_pkts [expr $drops - $d]"
    puts "mean_queue_pkts [expr ($sum - $s) / $time]"
    # Packets acknowledged, cuts, timeouts and packets sent again of each flow.
    puts -nonewline "flows"
    foreach now $each then $before_each {puts -nonewline " [expr $now - $then]"}
    puts ""
  }
  exit 0
}
$ns at $g(warmup) {set before [counted]}
$ns at $g(duration) report
$ns run
