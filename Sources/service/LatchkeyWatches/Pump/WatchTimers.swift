/// Deadlines of watchers and waits, in buckets of 50 ms.
///
/// Adding and removing are one look-up each, however many there are. A deadline is met up to one
/// tick late.
struct WatchTimers {
    static let tickNanoseconds: UInt64 = 50_000_000

    private var buckets: [Int64: Set<UInt64>] = [:]
    private var first: Int64?

    /// The first tick that is not before the time.
    static func tick(_ nanoseconds: UInt64) -> Int64 {
        Int64((nanoseconds + tickNanoseconds - 1) / tickNanoseconds)
    }

    /// When the first deadline is over; nil without one.
    var nextNanoseconds: UInt64? { first.map { UInt64($0) * Self.tickNanoseconds } }

    mutating func add(_ id: UInt64, at tick: Int64) {
        buckets[tick, default: []].insert(id)
        first = min(first ?? tick, tick)
    }

    mutating func remove(_ id: UInt64, at tick: Int64) {
        buckets[tick]?.remove(id)
        if buckets[tick]?.isEmpty == true {
            buckets[tick] = nil
            if tick == first {
                first = buckets.keys.min()
            }
        }
    }

    /// Takes one bucket whose time is over.
    mutating func popDue(_ now: UInt64) -> Set<UInt64>? {
        guard let tick = first, UInt64(tick) * Self.tickNanoseconds <= now else {
            return nil
        }
        let due = buckets.removeValue(forKey: tick)
        first = buckets.keys.min()
        return due
    }
}
