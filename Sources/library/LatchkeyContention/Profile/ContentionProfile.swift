import CLatchkeySystem
import Foundation
import LatchkeySync
import Synchronization

/// Which places in the code wait for a lock, and which ones keep them waiting.
///
/// ```swift
/// let profile = ContentionProfile()
/// let locks = LockMeters(profile: profile)
/// let sessions = locks.metered("sessions", [String: Int]())
/// sessions.write { $0["ada"] = 1 }
/// try Data(profile.pprof()).write(to: URL(filePath: "waits"))  // go tool pprof -top waits
/// ```
///
/// One contended access in N, drawn at random, is recorded with the place of the waiter and of the
/// holder, and scaled up. A place is the `#fileID:#line` of the access function's call, and the
/// stack as far as frame pointers lead. The holder is blamed, as in Go's mutex profile: a sample's
/// stack is the holder's, and its labels name the lock and the waiter. A wait that several holders
/// caused is charged to one of them, drawn by how long each was inside.
///
/// **Cost.** An access that does not wait reads one more word. One that is recorded takes a lock of
/// the profile's twice, for about a microsecond. There is room for ``placesMax`` pairs of places,
/// which take up to 1.3 MB, and for 64 sampled waits at once. ``lostCount`` counts the accesses
/// that found no room. A profile is for the locks that are made with it.
///
/// **Not seen.** Readers under `snapshot`, which never wait. Threads beyond the first 4095. Where a
/// body runs on a queue's thread, its stack is that thread's, and the site is the caller's.
public final class ContentionProfile: Sendable {
    /// How many different pairs of a holder's and a waiter's place are recorded.
    public static let placesMax = 2048

    /// 100 contended accesses.
    public static let intervalDefault = 100

    /// N, if one contended access in N is recorded on average.
    public let interval: Int

    let waits: ProfileWaits
    private let locks = Guarded<[ProfileSample.Lock]>([])
    private let started = Date()
    private let startedNanoseconds = latchkey_system_nanoseconds()

    /// A profile without records.
    ///
    /// - Parameter interval: One contended access in N is recorded on average: N. 1 records all.
    public convenience init(oneIn interval: Int = intervalDefault) {
        self.init(oneIn: interval, clock: { latchkey_system_nanoseconds() })
    }

    init(
        oneIn interval: Int,
        capacity: Int = placesMax,
        clock: @escaping @Sendable () -> UInt64
    ) {
        precondition((1...(1 << 30)).contains(interval), "The interval is from 1 to 2^30.")
        self.interval = interval
        waits = ProfileWaits(capacity: capacity, clock: clock)
    }

    /// The contended accesses, scaled up, that found no room.
    public var lostCount: UInt64 { waits.recorded.lostCount }

    /// The number under which a lock is recorded.
    func add(lock: String?, strategy: String) -> Int {
        locks.write { locks in
            let lock = ProfileSample.Lock(name: lock, strategy: strategy)
            if let index = locks.firstIndex(of: lock) { return index }
            locks.append(lock)
            return locks.count - 1
        }
    }
}

// MARK: reading

extension ContentionProfile {
    /// The sums at one moment, from which a later profile can begin.
    package struct Mark: Sendable {
        fileprivate let sums: [ProfileWaits.Pair: ProfileWaits.Sum]
        fileprivate let lostCount: UInt64
        fileprivate let date = Date()
        fileprivate let nanoseconds = latchkey_system_nanoseconds()
    }

    /// The sums now.
    package func mark() -> Mark {
        let (sums, lostCount) = waits.recorded
        return Mark(sums: sums, lostCount: lostCount)
    }

    /// The record since a mark, or since the start.
    package func reading(since mark: Mark? = nil) -> ProfileReading {
        let now = self.mark()
        let locks = locks.read { $0 }
        let samples = now.sums.compactMap { pair, sum -> ProfileSample? in
            let earlier = mark?.sums[pair] ?? ProfileWaits.Sum()
            guard sum.count != earlier.count else { return nil }
            return ProfileSample(
                lock: locks[pair.lock],
                mode: pair.mode,
                holder: pair.holder,
                waiter: pair.waiter,
                count: sum.count &- earlier.count,
                nanoseconds: sum.nanoseconds &- earlier.nanoseconds
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
