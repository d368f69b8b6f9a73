import Synchronization

/// How often and how long one place waited for another, in a table of fixed size.
///
/// **Design.** An entry is taken with one exchange of its hash, filled, and then published; it
/// never leaves the table and only its two sums change, atomically. No thread waits: one that meets
/// an entry that is being filled, or finds no free one within `stepMax` places, counts what it has
/// as lost. So a record is added in bounded time, without a lock and without allocating.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the words are atomic and live as long as this
/// object.
@safe
final class ProfileTable: @unchecked Sendable {
    /// A count and a delay, for each entry of the table.
    typealias Sums = [(count: UInt64, nanoseconds: UInt64)]

    private static let stepMax = 16
    // The places of an entry's words.
    private static let hash = 0
    private static let isPublished = 1
    private static let count = 2
    private static let nanoseconds = 3
    private static let record = 4
    private static let stride = record + ProfileRecord.wordCount

    private let capacity: Int
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let lost = Atomic<UInt64>(0)

    /// - Parameter capacity: A power of two.
    init(capacity: Int) {
        precondition(capacity.nonzeroBitCount == 1, "A table's size is a power of two.")
        self.capacity = capacity
        unsafe words = ProfileRecord.allocate(count: capacity * Self.stride)
    }

    deinit {
        unsafe words.deallocate()
    }

    /// The contentions that could not be recorded.
    var lostCount: UInt64 { lost.load(ordering: .relaxed) }

    /// Counts contentions without recording them.
    func lose(_ count: UInt64) {
        lost.wrappingAdd(count, ordering: .relaxed)
    }

    /// Adds contentions with these places.
    func add(_ record: ProfileRecord, count: UInt64, nanoseconds: UInt64) {
        let hash = record.hash
        for step in 0..<Self.stepMax {
            let entry = unsafe words + (Int(hash >> 32) + step) % capacity * Self.stride
            // Acquiring pairs with the releasing store of who filled the entry.
            let (isTaken, found) = unsafe entry[Self.hash].compareExchange(
                expected: 0,
                desired: hash,
                ordering: .relaxed
            )
            let own = unsafe ProfileRecord(entry + Self.record)
            if isTaken {
                record.copy(to: own)
                unsafe entry[Self.isPublished].store(1, ordering: .releasing)
            } else if found != hash {
                continue
            } else if unsafe entry[Self.isPublished].load(ordering: .acquiring) == 0 {
                break
            } else if !record.isEqual(to: own) {
                continue
            }
            unsafe entry[Self.count].wrappingAdd(count, ordering: .relaxed)
            unsafe entry[Self.nanoseconds].wrappingAdd(nanoseconds, ordering: .relaxed)
            return
        }
        lose(count)
    }

    /// The sums now.
    var sums: Sums {
        (0..<capacity).map { index in
            let entry = unsafe words + index * Self.stride
            return unsafe (
                entry[Self.count].load(ordering: .relaxed),
                entry[Self.nanoseconds].load(ordering: .relaxed)
            )
        }
    }

    /// The record of an entry, if it is complete.
    func record(_ index: Int) -> ProfileRecord? {
        let entry = unsafe words + index * Self.stride
        guard unsafe entry[Self.isPublished].load(ordering: .acquiring) == 1 else { return nil }
        return unsafe ProfileRecord(entry + Self.record)
    }
}
