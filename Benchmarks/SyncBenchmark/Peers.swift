import Foundation
import Glibc
import LatchkeyStrategies
import Synchronization

// Increments of a guarded integer under `adaptive` and under the locks that a user would take
// instead, for `Benchmarks/peers.py`, which compares them with Rust's parking_lot.
// `ParkingLot/src/main.rs` repeats the loop of `Race.swift`. Keep the two alike.

/// Reads lines `NAME THREADS MILLISECONDS` and answers each with `WALL CPU`: nanoseconds of wall
/// time and of processor time for each increment.
func servePeers() {
    while let line = readLine() {
        let words = line.split(separator: " ")
        guard words.count == 3, let threads = Int(words[1]), let milliseconds = UInt32(words[2]),
            let peer = peers[String(words[0])]
        else {
            preconditionFailure("A line is NAME THREADS MILLISECONDS.")
        }
        let cost = peer(threads, milliseconds)
        print(cost.wall, cost.cpu)
        fflush(nil)
    }
}

/// Each with its type, so that the compiler specialises the race for it.
private let peers: [String: @Sendable (_ threads: Int, _ milliseconds: UInt32) -> RaceCost] = [
    "adaptive": { race(StrategyCounter<AdaptiveStrategy>.self, $0, $1) },
    "Mutex": { race(MutexCounter.self, $0, $1) },
    "NSLock": { race(NSLockCounter.self, $0, $1) },
    "pthread-box": { race(BoxCounter.self, $0, $1) },
]

private final class StrategyCounter<ChosenStrategy: BlockingStrategy & MakeableStrategy>:
    Raced
{
    private let value = Synchronized<Int, ChosenStrategy>(0)

    @inline(__always)
    func once() {
        value.write { $0 &+= 1 }
    }

    func check(operations: Int) {
        precondition(value.read { $0 } == operations, "An increment is lost.")
    }
}

private final class MutexCounter: Raced {
    private let value = Mutex(0)

    @inline(__always)
    func once() {
        value.withLock { $0 &+= 1 }
    }

    func check(operations: Int) {
        precondition(value.withLock { $0 } == operations, "An increment is lost.")
    }
}

/// SAFETY: `@unchecked Sendable` because `value` is used while `lock` is held only.
private final class NSLockCounter: Raced, @unchecked Sendable {
    private let lock = NSLock()
    private var value = 0

    @inline(__always)
    func once() {
        lock.withLock { value &+= 1 }
    }

    func check(operations: Int) {
        precondition(lock.withLock { value } == operations, "An increment is lost.")
    }
}

/// A `pthread_mutex_t` in the elements of a managed buffer, and the value in its header.
///
/// The design of SwiftNIO's `NIOLockedValueBox`, which is a package that not every machine can
/// fetch.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the value is used while the mutex is held only,
/// and both live as long as the object.
@safe
private final class BoxCounter: Raced, @unchecked Sendable {
    private let buffer: ManagedBuffer<Int, pthread_mutex_t>

    init() {
        unsafe buffer = .create(minimumCapacity: 1) { _ in 0 }
        unsafe buffer.withUnsafeMutablePointerToElements { mutex in
            unsafe mutex.initialize(to: pthread_mutex_t())
            let result = unsafe pthread_mutex_init(mutex, nil)
            precondition(result == 0, "pthread_mutex_init failed.")
        }
    }

    deinit {
        unsafe buffer.withUnsafeMutablePointerToElements { mutex in
            _ = unsafe pthread_mutex_destroy(mutex)
        }
    }

    @inline(__always)
    func once() {
        withLockedValue { $0 &+= 1 }
    }

    func check(operations: Int) {
        precondition(withLockedValue { $0 } == operations, "An increment is lost.")
    }

    @inline(__always)
    private func withLockedValue<Result>(_ body: (inout Int) -> Result) -> Result {
        unsafe buffer.withUnsafeMutablePointers { value, mutex in
            let locked = unsafe pthread_mutex_lock(mutex)
            precondition(locked == 0, "pthread_mutex_lock failed.")
            defer {
                let unlocked = unsafe pthread_mutex_unlock(mutex)
                precondition(unlocked == 0, "pthread_mutex_unlock failed.")
            }
            return unsafe body(&value.pointee)
        }
    }
}
