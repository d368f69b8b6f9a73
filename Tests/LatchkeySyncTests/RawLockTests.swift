import CLatchkeySystem
import Foundation
import Glibc
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeySync

/// The locks below the strategies.
@Suite(.timeLimit(.minutes(15)))
struct RawLockTests {
    @Test func `one of the pthread mutexes is of glibc's adaptive kind`() {
        func kind(_ lock: PthreadMutexLock) -> CInt {
            unsafe lock.storage.withUnsafeMutablePointerToElements { handle in
                unsafe handle.pointee.__data.__kind
            }
        }
        #expect(kind(PthreadAdaptiveLock().base) == CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
        #expect(kind(PthreadMutexLock()) == CInt(PTHREAD_MUTEX_DEFAULT))
    }

    @Test func `an adaptive lock does not poll on one processor`() {
        let alone = AdaptiveLock.Polling(processors: 1)
        #expect(alone.nanosecondsMax == 0 && alone.askingNanosecondsMax == 0)
        for processors in [2, 64] {
            let polling = AdaptiveLock.Polling(processors: processors)
            #expect(polling.nanosecondsMax > 0 && polling.askingNanosecondsMax > 0)
        }
    }

    /// In a process of its own, which `taskset` binds to two processors and then to one.
    @Test func `the processors that the process may use decide, not those of the machine`() async {
        await #expect(processExitsWith: .success) {
            let all = try Self.taskset("-pc", "\(getpid())")
            let list = all.split(separator: ":").last?.filter { !$0.isWhitespace } ?? ""
            let many = Int(latchkey_system_processors())
            // "0,1" or "0-3".
            let first = list.prefix { $0.isNumber }
            if many > 1 {
                let second = list.contains("-") ? "\((Int(first) ?? 0) + 1)" : nil
                let two =
                    second.map { "\(first),\($0)" }
                    ?? list.split(separator: ",").prefix(2)
                    .joined(separator: ",")
                _ = try Self.taskset("-pc", two, "\(getpid())")
                precondition(latchkey_system_processors() == 2)
            }
            _ = try Self.taskset("-pc", String(first), "\(getpid())")
            precondition(latchkey_system_processors() == 1)
            // The first wait of the process comes after that.
            precondition(AdaptiveLock.polling.nanosecondsMax == 0)
            let lock = AdaptiveLock()
            let count = Collected(0)
            let threads = (0..<4).map { _ in
                TestThread {
                    for _ in 0..<1_000 {
                        lock.lock()
                        count.with { $0 += 1 }
                        lock.unlock()
                    }
                }
            }
            for thread in threads { precondition(thread.join()) }
            precondition(count.with { $0 } == 4_000)
            // The number of processors at the first wait of a thread counts.
            _ = try Self.taskset("-pc", String(list), "\(getpid())")
            precondition(latchkey_system_processors() == many)
            precondition(AdaptiveLock.polling.nanosecondsMax == 0)
        }
    }

    private static func taskset(_ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        process.waitUntilExit()
        precondition(process.terminationStatus == 0)
        return String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    }

    /// The clock ends the polling.
    @Test func `an adaptive lock polls and asks for a bounded time`() {
        let lock = AdaptiveLock()
        lock.lock()
        var polling = AdaptiveLock.Polling(processors: 2)
        #expect(!lock.polls(polling))
        #expect(!lock.asks(toTakeAs: AdaptiveLock.locked, polling))
        // 25 ns times a power of five, so that the last look is then.
        polling.nanosecondsMax = 1_953_125
        polling.askingNanosecondsMax = 1_000_000
        var start = ContinuousClock.now
        #expect(!lock.polls(polling))
        #expect(ContinuousClock.now - start >= .nanoseconds(1_953_125))
        start = .now
        #expect(!lock.asks(toTakeAs: AdaptiveLock.locked, polling))
        #expect(ContinuousClock.now - start >= .milliseconds(1))
        lock.unlock()
        #expect(lock.polls(polling))
    }

    @Test
    func `a thread that asks marks a lock without a sleeper, and the mark goes with the holder`() {
        let lock = AdaptiveLock()
        let polling = AdaptiveLock.Polling(processors: 2)
        lock.lock()
        #expect(!lock.asks(toTakeAs: AdaptiveLock.locked, polling))
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.wanted)
        lock.unlock()
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.unlocked)
        #expect(lock.asks(toTakeAs: AdaptiveLock.locked, polling))
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.locked)
    }

    /// Otherwise the sleeper would never be woken.
    @Test func `no thread asks for a lock with a sleeper`() {
        let lock = AdaptiveLock()
        lock.memory.first.store(AdaptiveLock.contended, ordering: .relaxed)
        var polling = AdaptiveLock.Polling(processors: 2)
        polling.askingNanosecondsMax = .max / 2
        #expect(!lock.asks(toTakeAs: AdaptiveLock.locked, polling))
        #expect(!lock.polls(polling))
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.contended)
    }

    @Test func `one waiter in sixteen sleeps instead of asking`() {
        let times = (0..<UInt64(64 * 16)).filter { !AdaptiveLock.Polling.asks(at: $0) }
        #expect(times.count == 64)
    }

    /// The holder comes back at once, always, so that no look finds the lock free by chance.
    @Test func `a thread that asks gets the lock from one that always comes back`() {
        let lock = AdaptiveLock()
        var polling = AdaptiveLock.Polling(processors: 2)
        polling.askingNanosecondsMax = .max / 2
        let inside = Gate()
        let over = Atomic(false)
        let holder = TestThread {
            lock.lock()
            inside.open()
            while !over.load(ordering: .relaxed) {
                lock.unlock()
                lock.lock()
            }
            lock.unlock()
        }
        inside.pass()
        #expect(lock.asks(toTakeAs: AdaptiveLock.locked, polling))
        over.store(true, ordering: .relaxed)
        lock.unlock()
        #expect(holder.join())
    }

    /// The thread that sleeps on the lock is woken.
    ///
    ///     holder                   waiter
    ///     ------                   ------
    ///     locks
    ///                              spins, marks the word, sleeps
    ///     sees the mark, unlocks
    ///                              is woken, holds the lock as contended
    @Test func `an adaptive lock wakes the thread that sleeps on it`() {
        let lock = AdaptiveLock()
        lock.lock()
        let held = Collected<UInt32>(0)
        let waiter = TestThread {
            lock.lock()
            held.with { $0 = lock.memory.first.load(ordering: .relaxed) }
            lock.unlock()
        }
        #expect(eventually { lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.contended })
        lock.unlock()
        #expect(waiter.join())
        #expect(held.with { $0 } == AdaptiveLock.contended)
        #expect(lock.memory.first.load(ordering: .relaxed) == AdaptiveLock.unlocked)
    }
}

/// Locks for objects that have none.
@Suite(.timeLimit(.minutes(15)))
struct MonitorTests {
    private final class Account: Sendable {}

    @Test func `a monitor excludes another thread`() {
        let account = Account()
        let (inside, leave, entered) = (Gate(), Gate(), Gate())
        let holder = TestThread {
            Monitor.synchronized(on: account) {
                inside.open()
                leave.pass()
            }
        }
        inside.pass()
        let other = TestThread {
            Monitor.synchronized(on: account) { entered.open() }
        }
        #expect(entered.staysClosed)
        leave.open()
        #expect(holder.join() && other.join())
    }

    @Test func `a monitor lets its own thread in again`() {
        let account = Account()
        let depth = Monitor.synchronized(on: account) {
            Monitor.synchronized(on: account) { 2 }
        }
        #expect(depth == 2)
    }

    @Test func `two objects do not wait for each other, whatever their bucket`() {
        let accounts = (0..<200).map { _ in Account() }
        @Sendable func enter(_ rest: ArraySlice<Account>) -> Int {
            guard let first = rest.first else { return 0 }
            return Monitor.synchronized(on: first) { 1 + enter(rest.dropFirst()) }
        }
        let done = Gate()
        let (inside, leave) = (Gate(), Gate())
        let holder = TestThread {
            Monitor.synchronized(on: accounts[0]) {
                inside.open()
                leave.pass()
            }
        }
        inside.pass()
        let other = TestThread {
            #expect(enter(accounts[1...]) == 199)
            done.open()
        }
        #expect(done.pass())
        leave.open()
        #expect(holder.join() && other.join())
    }

    @Test func `a throwing body leaves the monitor`() {
        struct Refusal: Error {}
        let account = Account()
        #expect(throws: Refusal.self) {
            try Monitor.synchronized(on: account) { () throws(Refusal) in throw Refusal() }
        }
        #expect(TestThread { Monitor.synchronized(on: account) {} }.join())
    }

    @Test func `an unused entry serves the next object`() {
        let bucket = MonitorBucket()
        let accounts = (0..<10).map { _ in Account() }
        let entries = accounts.map { account in
            let entry = bucket.entry(for: ObjectIdentifier(account))
            entry.lock.lock()
            entry.leave()
            return entry
        }
        #expect(entries.allSatisfy { $0 === entries[0] })
    }

    @Test func `an entry is not given away while somebody uses it`() {
        let bucket = MonitorBucket()
        let (first, second) = (Account(), Account())
        let entry = bucket.entry(for: ObjectIdentifier(first))
        #expect(bucket.entry(for: ObjectIdentifier(second)) !== entry)
        #expect(bucket.entry(for: ObjectIdentifier(first)) === entry)
    }
}
