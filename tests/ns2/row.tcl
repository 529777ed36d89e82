# One row of ns2.jsonl: `ns row.tcl key value ...` with ns-2.35 (Debian's package ns2), called by `make ns2-rows`.
# Flows with access links of their own share one link. The results are printed, a name and its value a line; a value with spaces is a list.

array set g {
  rate 100e6 access 1e9 delay 0.005 wire 1500 duration 150 warmup 50 buffer 25 seed 1 queue DropTail red_adaptive 1
  model flows cc linux:htcp rtt 0.06 jitter 5 min_rto 0 tick 0 impatient 1
  bg_rate 0 bg_flows 1 reverse_cc {} reverse_rtt {}
  persistent_flows 200 users 450 load 0.95 bin 0.1
}
foreach {key value} $argv {
  if {![info exists g($key)]} {error "unknown key $key"}
  set g($key) $value
}

# Random numbers: each purpose has a stream of its own, and each seed a substream of it. Substreams of MRG32k3a are 2^76 draws
# apart. (`$rng seed N` with N = 1, 2, 3 gives first draws that are nearly alike.)
proc stream {} {
  global g
  set random [new RNG]
  for {set i 0} {$i < $g(seed)} {incr i} {$random next-substream}
  return $random
}
set starts [stream]
set choices [stream]
set sizes [stream]
set pauses [stream]
for {set i 0} {$i < $g(seed)} {incr i} {$defaultRNG next-substream}

set ns [new Simulator]
set r1 [$ns node]
set r2 [$ns node]
if {$g(queue) == "RED"} {
  Queue/RED set bytes_ false
  Queue/RED set queue_in_bytes_ false
  Queue/RED set adaptive_ $g(red_adaptive)
  Queue/RED set mean_pktsize_ $g(wire)
  Queue/RED set thresh_ [expr 0.4 * $g(buffer)]
  Queue/RED set maxthresh_ $g(buffer)
}
if {$g(queue) == "DRR"} {
  Queue/DRR set buckets_ 100003
  Queue/DRR set blimit_ [expr ($g(buffer) - 1) * $g(wire)]
  Queue/DRR set quantum_ $g(wire)
  Queue/DRR set mask_ 0
}
$ns simplex-link $r1 $r2 $g(rate) $g(delay)s $g(queue)
$ns simplex-link $r2 $r1 $g(rate) $g(delay)s DropTail
$ns queue-limit $r1 $r2 $g(buffer)
$ns queue-limit $r2 $r1 [expr [llength $g(reverse_cc)] ? $g(buffer) : 1000000]

# A host. DRR sorts by a hash of the sender's address, which is the same for 16 k - 1 and 16 k: no host is a 16 k.
proc host {} {
  global ns
  set node [$ns node]
  if {[$node id] % 16 == 0} {set node [$ns node]}
  return $node
}
# Links between two nodes that hold nothing up, with a delay for each direction.
proc unlimited {from to rate there back} {
  global ns
  $ns simplex-link $from $to $rate [format %.12f $there]s DropTail
  $ns simplex-link $to $from $rate [format %.12f $back]s DropTail
  $ns queue-limit $from $to 1000000
  $ns queue-limit $to $from 1000000
}
# A sender at $near and a receiver at $far. The round trip has the propagation, what a data packet takes on the receiver's link
# and what an acknowledgment of 40 bytes takes on each link of its way back; the shared link counts unless data queues there, too.
# If data queues in both directions, the place of the delay decides how the two queues are coupled: half of it lies before the
# receiver and half after the shared link of the acknowledgments.
proc hosts {near far rtt} {
  global g
  set shared [expr [llength $g(reverse_cc)] ? 0.0 : 320.0 / $g(rate)]
  set held [expr 8.0 * $g(wire) / $g(access) + 2 * 320.0 / $g(access) + $shared]
  set delay [expr ($rtt - $held) / 2.0 - $g(delay)]
  if {$delay < 0} {error "a round trip of $rtt is too short"}
  set from [host]
  set to [host]
  set both [llength $g(reverse_cc)]
  unlimited $from $near $g(access) [expr $both ? 0 : $delay] $delay
  unlimited $far $to $g(access) [expr $both ? $delay : 0] 0
  return [list $from $to]
}

Agent/TCP set window_ 1000000
Agent/TCP set syn_ true
if {$g(min_rto) > 0} {Agent/TCP set minrto_ $g(min_rto)}
if {$g(tick) > 0} {Agent/TCP set tcpTick_ $g(tick)}
Agent/TCP/Newreno set newreno_changes1_ $g(impatient)

# A connection by the controller's name.
proc connection {name from to} {
  global ns g sink_of
  set sink [new Agent/TCPSink/Sack1]
  set header 40
  switch -glob $name {
    linux:* {
      set agent [new Agent/TCP/Linux]
      $agent set timestamps_ true
      $sink set ts_echo_rfc1323_ true
      $ns at 0 "$agent select_ca [string range $name 6 end]"
      # Ten bytes of timestamps beside the 40 of headers.
      set header 50
    }
    newreno - hstcp_nr {
      set agent [new Agent/TCP/Newreno]
      set sink [new Agent/TCPSink]
    }
    sack - hstcp {set agent [new Agent/TCP/Sack1]}
    default {error "unknown controller $name"}
  }
  $agent set packetSize_ [expr $g(wire) - $header]
  if {[string match hstcp* $name]} {
    $agent set windowOption_ 8
    $agent set low_window_ 38
    $agent set high_window_ 83000
    $agent set high_p_ 0.0000001
    $agent set high_decrease_ 0.1
  }
  $ns attach-agent $from $agent
  $ns attach-agent $to $sink
  $ns connect $agent $sink
  set sink_of($agent) $sink
  return $agent
}
proc persistent {agent start} {
  global ns
  set source [new Application/FTP]
  $source attach-agent $agent
  $ns at $start "$source start"
}

# Persistent flows, each with a round trip and a controller of its own, in both directions if asked.
set agents {}
if {$g(model) == "flows"} {
  foreach name [split $g(cc) ,] rtt [split $g(rtt) ,] {
    foreach {from to} [hosts $r1 $r2 $rtt] {
      lappend agents [connection $name $from $to]
      persistent [lindex $agents end] [$starts uniform 0 $g(jitter)]
    }
  }
  foreach name [split $g(reverse_cc) ,] rtt [split $g(reverse_rtt) ,] {
    foreach {from to} [hosts $r2 $r1 $rtt] {
      persistent [connection $name $from $to] [$starts uniform 0 $g(jitter)]
    }
  }
}

# Transfers: each begins at a source drawn anew. Agents that are done are used again, as making one takes milliseconds.
proc transfer {packets finished} {
  global ns choices sources idle
  set source [expr int([$choices uniform 0 [llength $sources]])]
  if {[info exists idle($source)] && [llength $idle($source)]} {
    set agent [lindex $idle($source) end]
    set idle($source) [lrange $idle($source) 0 end-1]
  } else {
    set pair [lindex $sources $source]
    set agent [connection sack [lindex $pair 0] [lindex $pair 1]]
  }
  $agent proc done {} "global ns; \$ns at \[\$ns now\] {again $agent $source}; $finished"
  # One SYN and these packets.
  $agent advanceby $packets
}
proc again {agent source} {
  global idle sink_of
  $agent reset
  $sink_of($agent) reset
  lappend idle($source) $agent
}
proc mixture {} {
  global sizes
  set draw [$sizes uniform 0 1]
  set mean [expr $draw < 0.266 ? 15 : $draw < 0.7 ? 50 : 200]
  return [expr max(1, int(ceil([$sizes exponential $mean])))]
}
proc every {mean size} {
  global ns pauses
  transfer [uplevel #0 $size] {}
  $ns at [expr [$ns now] + [$pauses exponential $mean]] [list every $mean $size]
}
proc user {} {
  transfer [mixture] {global pauses; $ns at [expr [$ns now] + [$pauses exponential 5]] user}
}
if {$g(model) != "flows"} {
  foreach rtt [split $g(rtt) ,] {lappend sources [hosts $r1 $r2 $rtt]}
  set packet [expr 8.0 * $g(wire) / $g(rate)]
  switch $g(model) {
    persistent {
      for {set i 0} {$i < $g(persistent_flows)} {incr i} {
        set pair [lindex $sources [expr int([$choices uniform 0 [llength $sources]])]]
        persistent [connection sack [lindex $pair 0] [lindex $pair 1]] [$starts uniform 0 5]
      }
      $ns at 0 [list every [expr 14 * $packet / 0.05] {expr int([$sizes uniform 3 26])}]
    }
    closed {for {set i 0} {$i < $g(users)} {incr i} {$ns at [$starts uniform 0 5] user}}
    open {$ns at 0 [list every [expr 85.69 * $packet / $g(load)] mixture]}
    default {error "unknown model $g(model)"}
  }
}

# The background: Poisson packets of UDP, each source at a host of its own with a link that holds nothing up.
for {set i 0} {$g(bg_rate) > 0 && $i < $g(bg_flows)} {incr i} {
  set from [host]
  unlimited $from $r1 1e13 0 0
  set to [host]
  unlimited $r2 $to 1e13 0 0
  set agent [new Agent/UDP]
  $agent set packetSize_ $g(wire)
  set sink [new Agent/Null]
  $ns attach-agent $from $agent
  $ns attach-agent $to $sink
  $ns connect $agent $sink
  set source [new Application/Traffic/Exponential]
  $source set packetSize_ $g(wire)
  $source set burst_time_ 0
  $source set rate_ 1e15
  $source set idle_time_ [expr 8.0 * $g(wire) * $g(bg_flows) / $g(bg_rate)]
  $source use-rng [stream]
  $source attach-agent $agent
  $ns at 0 "$source start"
}

set monitor [$ns monitor-queue $r1 $r2 ""]
set queue [$monitor get-pkts-integrator]
proc counted {} {
  global monitor queue ns
  $queue newpoint [$ns now] [$queue set lasty_]
  list [$monitor set parrivals_] [$monitor set pdrops_] [$monitor set bdepartures_] [$queue set sum_] [$monitor set pdepartures_]
}
proc of_agents {name} {
  global agents
  set values {}
  foreach agent $agents {lappend values [$agent set $name]}
  return $values
}
set names {ack_ nrexmit_ nrexmitpack_ ncwndcuts_}
proc begin {} {
  global before flows names last events in_event
  set before [counted]
  foreach name $names {set flows($name) [of_agents $name]}
  set last [of_agents nrexmitpack_]
  set events 0
  set in_event 0
  look
}
# Congestion events: bins in which a flow retransmitted; neighbors are one event.
proc look {} {
  global ns g last events in_event
  set now [of_agents nrexmitpack_]
  set hit [expr {$now != $last}]
  if {$hit && !$in_event} {incr events}
  set in_event $hit
  set last $now
  $ns at [expr [$ns now] + $g(bin)] look
}
proc report {} {
  global g before flows names events agents
  foreach {arrivals drops bytes sum departures} [counted] {a d b s p} $before {
    set time [expr $g(duration) - $g(warmup)]
    # SYNs and acknowledgments are smaller than data; but ns-2 counts bytes in 31 bits.
    set sent [expr {$g(model) != "flows" || [llength $g(reverse_cc)] ? $bytes - $b : ($departures - $p) * double($g(wire))}]
    puts "utilization [expr $sent * 8.0 / ($g(rate) * $time)]"
    puts "loss_rate [expr 1.0 * ($drops - $d) / max(1, $arrivals - $a)]"
    puts "arrivals_pkts [expr $arrivals - $a]"
    puts "drops_pkts [expr $drops - $d]"
    puts "mean_queue_pkts [expr ($sum - $s) / $time]"
    puts "bottleneck_pkts_forwarded_total $departures"
  }
  if {[llength $agents]} {
    foreach name $names {
      set values {}
      foreach now [of_agents $name] then $flows($name) {lappend values [expr $now - $then]}
      puts "$name $values"
    }
    puts "events $events"
  }
  exit 0
}
$ns at $g(warmup) begin
$ns at $g(duration) report
$ns run
