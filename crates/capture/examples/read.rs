//! Reads captures and prints the speed: `read FILE...` prints packets, bytes, seconds and the
//! notes.

use std::process::ExitCode;
use std::time::Instant;

use forebay_capture::{CaptureError, Reader, merged};

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        eprintln!("read: allowed: FILE...");
        return ExitCode::from(2);
    }
    match read(&files) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn read(files: &[String]) -> Result<(), CaptureError> {
    let started = Instant::now();
    let (mut packets, mut bytes, mut tcp) = (0_u64, 0_u64, 0_u64);
    let mut count = |packet: &forebay_capture::Packet| {
        packets += 1;
        bytes += u64::from(packet.bytes);
        tcp += u64::from(matches!(
            packet.transport,
            forebay_capture::Transport::Tcp(_)
        ));
    };
    let notes = if let [one] = files {
        let mut reader = Reader::open(one)?;
        while let Some(packet) = reader.next()? {
            count(&packet);
        }
        reader.notes()
    } else {
        let readers: Result<Vec<_>, _> = files.iter().map(Reader::open).collect();
        let mut all = merged(readers?)?;
        while let Some(packet) = all.next()? {
            count(&packet);
        }
        all.notes()
    };
    let seconds = started.elapsed().as_secs_f64();
    let rate = packets as f64 / seconds / 1e6;
    println!(
        "{packets} packets ({tcp} TCP), {bytes} bytes in {seconds:.3} s: {rate:.2} million a second"
    );
    println!("{notes:#?}");
    Ok(())
}
