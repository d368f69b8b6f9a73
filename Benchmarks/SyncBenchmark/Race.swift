import Foundation
import Glibc
import Synchronization

// A race: threads do one thing over and over for a fixed time, from one start line. Besides this,
// the loop only checks the end of the time, once in a hundred operations.

/// The operation that a thread of a race repeats.
protocol Raced: AnyObject, Sendable {
    init()

    func once()

    /// Stops if this many calls of ``once()`` have not the right result.
    func check(operations: Int)
}

/// Nanoseconds for each operation of all threads.
struct RaceCost {
    let wall: Double
    let cpu: Double
}

/// Runs one object on `threads` threads, each kept on one processor.
///
/// To be called with a type that the compiler knows, so that it specialises the loop.
func race<Runner: Raced>(
    _ type: Runner.Type,
    _ threads: Int,
    _ milliseconds: UInt32
) -> RaceCost {
    let runner = Runner()
    let race = RaceState()
    let ended = DispatchGroup()
    for index in 0..<threads {
        ended.enter()
        Thread.detachNewThread {
            pin(index)
            race.operations.add(raceLoop(runner, race), ordering: .relaxed)
            ended.leave()
        }
    }
    while race.arrived.load(ordering: .relaxed) < threads {
        sched_yield()
    }
    let (began, spent) = (clock(CLOCK_MONOTONIC), clock(CLOCK_PROCESS_CPUTIME_ID))
    race.phase.store(1, ordering: .relaxed)
    usleep(milliseconds * 1000)
    race.phase.store(2, ordering: .relaxed)
    ended.wait()
    let operations = race.operations.load(ordering: .relaxed)
    runner.check(operations: operations)
    return RaceCost(
        wall: Double(clock(CLOCK_MONOTONIC) - began) / Double(operations),
        cpu: Double(clock(CLOCK_PROCESS_CPUTIME_ID) - spent) / Double(operations)
    )
}

/// Not inlined, so that each type has a loop of its own with nothing else in it.
@inline(never)
private func raceLoop<Runner: Raced>(_ runner: Runner, _ race: RaceState) -> Int {
    // Operations between two looks at the phase.
    let batch = 100
    var operations = 0
    race.arrived.add(1, ordering: .relaxed)
    while race.phase.load(ordering: .relaxed) == 0 {
        sched_yield()
    }
    while race.phase.load(ordering: .relaxed) == 1 {
        for _ in 0..<batch {
            runner.once()
        }
        operations &+= batch
    }
    return operations
}

/// The starting line: 0 waiting, 1 running, 2 over.
///
/// Between two paddings, so that it shares no cache line with the measured object.
private final class RaceState: Sendable {
    private let before = CacheLines()
    let phase = Atomic<Int>(0)
    let arrived = Atomic<Int>(0)
    let operations = Atomic<Int>(0)
    private let after = CacheLines()
}

private struct CacheLines {
    private let words: InlineArray<16, Int> = .init(repeating: 0)
}

private typealias SetAffinity = @convention(c) (pid_t, Int, UnsafePointer<cpu_set_t>) -> CInt

/// Looked up by name, because glibc declares it for `_GNU_SOURCE` only, which Swift does not set.
private let setAffinity: SetAffinity? = unsafe unsafeBitCast(
    dlsym(dlopen(nil, RTLD_NOW), "sched_setaffinity"),
    to: SetAffinity?.self
)

/// Keeps the calling thread on one processor: the threads take turns over all of them.
private func pin(_ index: Int) {
    let processor = index % sysconf(Int32(_SC_NPROCESSORS_ONLN))
    var set = cpu_set_t()
    // SAFETY: the bytes are those of the set, which has a bit for each of 1024 processors.
    unsafe withUnsafeMutableBytes(of: &set) { bytes in
        unsafe bytes[processor / 8] |= 1 << UInt8(processor % 8)
    }
    // SAFETY: the type is the one that sched_setaffinity(2) has; the call reads the set alone.
    let result = unsafe setAffinity?(0, MemoryLayout<cpu_set_t>.size, &set)
    precondition(result == 0, "sched_setaffinity failed.")
}

/// Nanoseconds by a clock of the system.
private func clock(_ id: clockid_t) -> Int {
    var time = timespec()
    // SAFETY: the call writes the structure alone.
    unsafe clock_gettime(id, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}
