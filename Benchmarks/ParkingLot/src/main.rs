//! Increments under `parking_lot::Mutex`, for `Benchmarks/peers.py`.
//!
//! Reads lines `THREADS MILLISECONDS` and answers each with `WALL CPU`: nanoseconds of wall time
//! and of processor time for each increment. `SyncBenchmark/Race.swift` has the same loop for
//! Swift's locks. Keep the two alike.

use parking_lot::Mutex;
use std::io::{stdin, stdout, BufRead, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Increments between two looks at the phase.
const BATCH: u64 = 100;

/// The starting line: 0 waiting, 1 running, 2 over. Alone in its cache lines.
#[repr(align(128))]
struct Race {
    phase: AtomicUsize,
    arrived: AtomicUsize,
}

fn main() {
    for line in stdin().lock().lines() {
        let line = line.expect("standard input is text");
        let mut words = line
            .split(' ')
            .map(|word| word.parse().expect("a whole number"));
        let threads: u64 = words.next().expect("a number of threads");
        let milliseconds: u64 = words.next().expect("a number of milliseconds");
        let (wall, cpu) = race(threads as usize, Duration::from_millis(milliseconds));
        println!("{wall} {cpu}");
        stdout().flush().expect("standard output is open");
    }
}

fn race(threads: usize, time: Duration) -> (f64, f64) {
    let counter = Arc::new(Mutex::new(0u64));
    let race = Arc::new(Race {
        phase: AtomicUsize::new(0),
        arrived: AtomicUsize::new(0),
    });
    let runners: Vec<_> = (0..threads)
        .map(|index| {
            let (counter, race) = (counter.clone(), race.clone());
            thread::spawn(move || {
                pin(index);
                run(&counter, &race)
            })
        })
        .collect();
    while race.arrived.load(Relaxed) < threads {
        thread::yield_now();
    }
    let (began, spent) = (Instant::now(), cpu_nanoseconds());
    race.phase.store(1, Relaxed);
    thread::sleep(time);
    race.phase.store(2, Relaxed);
    let operations: u64 = runners
        .into_iter()
        .map(|each| each.join().expect("no panic"))
        .sum();
    let (wall, cpu) = (began.elapsed(), cpu_nanoseconds() - spent);
    assert_eq!(*counter.lock(), operations);
    (
        wall.as_nanos() as f64 / operations as f64,
        cpu as f64 / operations as f64,
    )
}

#[inline(never)]
fn run(counter: &Mutex<u64>, race: &Race) -> u64 {
    let mut operations = 0;
    race.arrived.fetch_add(1, Relaxed);
    while race.phase.load(Relaxed) == 0 {
        thread::yield_now();
    }
    while race.phase.load(Relaxed) == 1 {
        for _ in 0..BATCH {
            *counter.lock() += 1;
        }
        operations += BATCH;
    }
    operations
}

/// Keeps the calling thread on one processor: the threads take turns over all of them.
fn pin(index: usize) {
    // SAFETY: the calls read and write the set alone, which all-zero bytes are a value of.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let processors = libc::sysconf(libc::_SC_NPROCESSORS_ONLN) as usize;
        libc::CPU_SET(index % processors, &mut set);
        assert_eq!(
            libc::sched_setaffinity(0, std::mem::size_of_val(&set), &set),
            0
        );
    }
}

/// The processor time of the process.
fn cpu_nanoseconds() -> i64 {
    // SAFETY: the call writes the structure alone, which all-zero bytes are a value of.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        assert_eq!(
            libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time),
            0
        );
        time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}
