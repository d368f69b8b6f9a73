import CLatchkeySystem
import Foundation
import LatchkeyMetrics
import LatchkeySync
import Synchronization

/// Which places in the code wait for a lock, and which ones keep them waiting.
///
/// ```swift
/// let profile = ContentionProfile()
/// let locks = LockMeters(profile: profile)
/// let sessions = locks.metered("sessions", [String: Int]())
/// …
/// try Data(profile.pprof()).write(to: file)   // go tool pprof -top file
/// ```
///
/// One contended access in N, drawn at random, is recorded with the place of the waiter and of the
/// holder, and scaled up. A place is the `#fileID:#line` of the access function's call, and the
/// stack as far as frame pointers lead. The holder is blamed, as in Go's mutex profile: a sample's
/// stack is the holder's, and its labels name the lock and the waiter. A wait that several holders
/// caused is charged to one of them, drawn by how long each was inside.
///
/// **Cost.** An access that does not wait reads one more word. There is room for ``placesMax``
/// pairs of places and for 64 sampled waits at once, 1.3 MB in all; recording allocates nothing.
/// ``lostCount`` counts what found no room. A profile is for the locks that are made with it.
///
/// **Not seen.** Readers under `snapshot`, who never wait. Threads beyond the first 4095. Where a
/// body runs on a queue's thread, its stack is that thread's, and the site is the caller's.
public final class ContentionProfile: Sendable {
    /// How many different pairs of a holder's and a waiter's place are recorded.
    public static let placesMax = 2048

    /// 100 contended accesses.
    public static let intervalDefault = 100

    /// N, if one contended access in N is recorded on average.
    public let interval: Int

    let waits: ProfileWaits
    private let table: ProfileTable
    private let locks = Guarded<[ProfileSample.Lock]>([])
    private let started = Date()
    private let startedNanoseconds = latchkey_system_nanoseconds()

    /// A profile without records.
    ///
    /// - Parameter interval: One contended access in so many is recorded on average; 1 records all.
    public convenience init(oneIn interval: Int = intervalDefault) {
        self.init(oneIn: interval, capacity: Self.placesMax)
    }

    init(oneIn interval: Int, capacity: Int) {
        precondition((1...(1 << 30)).contains(interval), "The interval is from 1 to 2^30.")
        self.interval = interval
        table = ProfileTable(capacity: capacity)
        waits = ProfileWaits(table)
    }

    /// The contended accesses, scaled up, that there was no room for.
    public var lostCount: UInt64 { table.lostCount }

    /// The number under which a lock is recorded.
    func add(lock: String?, strategy: String) -> Int {
        locks.write { locks in
            let lock = ProfileSample.Lock(name: lock, strategy: strategy)
            if let index = locks.firstIndex(of: lock) { return index }
            locks.append(lock)
            return locks.count - 1
        }
    }

    /// Whether the thread's contended access is one of those that are recorded.
    func isDrawn(_ words: PerThreadCounters) -> Bool {
        guard let cell = words.ownCell else {
            // A thread without an index.
            lose(1)
            return false
        }
        var left = cell[MeterLayout.untilProfiled]
        if left == 0 {
            left = ContentionProbe.gap(mean: interval, in: cell)
        }
        let isDrawn = left == 1
        cell[MeterLayout.untilProfiled] =
            isDrawn ? ContentionProbe.gap(mean: interval, in: cell) : left - 1
        return isDrawn
    }

    /// Counts contended accesses that are not recorded.
    func lose(_ count: UInt64) {
        table.lose(count)
    }
}

// MARK: reading

extension ContentionProfile {
    /// The sums at one moment, from which a later profile can begin.
    package struct Mark: Sendable {
        fileprivate let sums: ProfileTable.Sums
        fileprivate let lostCount: UInt64
        fileprivate let date: Date
        fileprivate let nanoseconds: UInt64
    }

    /// The sums now.
    package func mark() -> Mark {
        Mark(
            sums: table.sums,
            lostCount: lostCount,
            date: Date(),
            nanoseconds: latchkey_system_nanoseconds()
        )
    }

    /// What was recorded since a mark, or since the start.
    package func reading(since mark: Mark? = nil) -> ProfileReading {
        let now = self.mark()
        let locks = locks.read { $0 }
        let samples = now.sums.enumerated().compactMap { index, sum -> ProfileSample? in
            let count = sum.count &- (mark?.sums[index].count ?? 0)
            guard count > 0, let record = table.record(index) else { return nil }
            return ProfileSample(
                lock: locks[record.lock],
                mode: record.waitsToWrite ? .write : .read,
                holder: record.holder,
                waiter: record.waiter,
                count: count,
                nanoseconds: sum.nanoseconds &- (mark?.sums[index].nanoseconds ?? 0)
            )
        }
        return ProfileReading(
            interval: interval,
            started: mark?.date ?? started,
            nanoseconds: now.nanoseconds &- (mark?.nanoseconds ?? startedNanoseconds),
            lostCount: now.lostCount &- (mark?.lostCount ?? 0),
            samples: samples
        )
    }

    /// The profile since the start, for `go tool pprof` and other tools that read its format.
    ///
    /// A gzip file with a `Profile` of pprof's `profile.proto`, of the sample types
    /// `contentions/count` and `delay/nanoseconds`. Looks up the names of the functions in the
    /// program's files, which takes milliseconds.
    public func pprof() -> [UInt8] { reading().pprof() }

    /// The profile of the time from now on.
    ///
    /// - Throws: `CancellationError` if the task is cancelled meanwhile.
    public func pprof(during time: Duration) async throws -> [UInt8] {
        let mark = mark()
        try await Task.sleep(for: time)
        return reading(since: mark).pprof()
    }

    /// The places that others waited for, those with the greatest delay first.
    public var sites: [ContentionSite] { reading().sites }
}

/// A place that keeps another one waiting for a lock.
public struct ContentionSite: Sendable, Equatable {
    /// The name of the lock; nil if it has none.
    public var lock: String?
    /// ``Strategy/name``.
    public var strategy: String
    /// Where the holder entered: `Module/File.swift:12`, the name of a function if the site is not
    /// known, or `(unknown)`.
    public var holder: String
    /// Where the waiter asked.
    public var waiter: String
    /// The contended accesses, scaled up.
    public var count: UInt64
    /// How long they waited together, scaled up.
    public var delay: Duration
}
