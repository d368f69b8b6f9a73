internal import Synchronization

/// The quotas of a store, and how many bytes of each are used.
///
/// **Design.** The tables of a store are guarded one by one, so the counts are atomics, as those of
/// ``StoreRoom``, and are taken and given back in the same order: taken before the revision of a
/// change, given back after it. So no revision exceeds a quota that the one before it has kept.
///
/// The rows are sorted by their prefixes. All prefixes of a name stand at or before the last row
/// that does not follow the name, and that row begins with each of them: one binary search, and
/// then a walk along `parent`, the longest shorter prefix of a row. Counts are apart from the rows,
/// so that writing them does not take the rows out of other cores' caches.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the rows are written before another thread has
/// the table, and the counts are atomics. `deinit` frees both.
@safe
struct QuotaTable: ~Copyable, @unchecked Sendable {
    /// SAFETY: `@safe` because the table frees the prefix, and nothing else has it.
    @safe
    private struct Row {
        let prefix: UnsafeRawBufferPointer
        let byteCountMax: Int
        let parent: Int?
    }

    private struct Count: ~Copyable {
        let used = Atomic<Int>(0)
        let refusals = Atomic<UInt64>(0)
    }

    /// In the order of the rows, for usage and refusals.
    private let quotas: [Quota]
    private let rows: UnsafeMutableBufferPointer<Row>
    private let counts: UnsafeMutableBufferPointer<Count>
    /// Whether there are no quotas: then nothing is looked up.
    let isEmpty: Bool

    init(_ quotas: [Quota]) {
        let sorted = quotas.sorted { $0.prefix.lexicographicallyPrecedes($1.prefix) }
        isEmpty = sorted.isEmpty
        self.quotas = sorted
        unsafe rows = .allocate(capacity: sorted.count)
        unsafe counts = .allocate(capacity: sorted.count)
        for (index, quota) in sorted.enumerated() {
            let prefix = UnsafeMutableRawBufferPointer.allocate(
                byteCount: quota.prefix.count,
                alignment: 1
            )
            unsafe prefix.copyBytes(from: quota.prefix)
            unsafe rows.initializeElement(
                at: index,
                to: Row(
                    prefix: UnsafeRawBufferPointer(prefix),
                    byteCountMax: quota.byteCountMax,
                    parent: sorted[..<index].lastIndex { quota.prefix.starts(with: $0.prefix) }
                )
            )
            unsafe counts.initializeElement(at: index, to: Count())
        }
    }

    deinit {
        for index in unsafe rows.indices {
            unsafe rows[index].prefix.deallocate()
        }
        unsafe rows.deallocate()
        unsafe counts.deinitialize().deallocate()
    }

    /// In the order of the prefixes.
    ///
    /// The numbers are read one after the other, while changes may go on.
    var usage: [QuotaUsage] {
        unsafe rows.indices.map { index in
            unsafe QuotaUsage(
                quota: quotas[index],
                byteCount: counts[index].used.load(ordering: .relaxed),
                refusalCount: counts[index].refusals.load(ordering: .relaxed)
            )
        }
    }

    /// The row of the longest prefix of a name.
    private func row(of name: PropertyName) -> Int? {
        var (low, high) = unsafe (0, rows.count)
        while low < high {
            let middle = (low + high) / 2
            if unsafe name.bytes.precedes(rows[middle].prefix) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        var row = low > 0 ? low - 1 : nil
        while let index = row, unsafe !name.bytes.begins(with: rows[index].prefix) {
            row = unsafe rows[index].parent
        }
        return row
    }

    /// Takes bytes of all quotas of a name, or says which one they would exceed.
    ///
    /// The quota of the longest prefix is named. A refusal leaves everything as it was.
    func take(_ byteCount: Int, of name: PropertyName) throws(StoreFull) {
        let first = row(of: name)
        var next = first
        while let index = next {
            do throws(StoreFull) {
                try take(byteCount, index)
            } catch {
                giveBack(byteCount, from: first, to: index)
                throw error
            }
            next = unsafe rows[index].parent
        }
    }

    private func take(_ byteCount: Int, _ index: Int) throws(StoreFull) {
        let shortage = unsafe StoreRoom.take(
            byteCount,
            of: counts[index].used,
            rows[index].byteCountMax
        )
        guard shortage == 0 else {
            unsafe counts[index].refusals.add(1, ordering: .relaxed)
            throw .quota(quotas[index])
        }
    }

    /// Gives bytes back to all quotas of a name.
    func giveBack(_ byteCount: Int, of name: PropertyName) {
        giveBack(byteCount, from: row(of: name), to: nil)
    }

    private func giveBack(_ byteCount: Int, from first: Int?, to end: Int?) {
        var next = first
        while let index = next, index != end {
            // Releasing: pairs with the exchange that takes them.
            unsafe counts[index].used.subtract(byteCount, ordering: .releasing)
            next = unsafe rows[index].parent
        }
    }

    /// Counts stored bytes without a check of the limits: they allowed them, or an earlier process
    /// had other limits.
    func replace(_ former: Property?, by property: Property?, _ name: PropertyName) {
        guard !isEmpty else {
            return
        }
        let growth = StoreSize(property).byteCount - StoreSize(former).byteCount
        var next = growth == 0 ? nil : row(of: name)
        while let index = next {
            unsafe counts[index].used.add(growth, ordering: .releasing)
            next = unsafe rows[index].parent
        }
    }
}

extension QuotaTable {
    /// Adds a property's part of a change of several properties.
    func add(_ byteCount: Int, of name: PropertyName, to growth: inout QuotaGrowth) {
        var next = byteCount == 0 ? nil : row(of: name)
        if next != nil, growth.byteCounts.isEmpty {
            growth.byteCounts = unsafe Array(repeating: 0, count: rows.count)
        }
        while let index = next {
            growth.byteCounts[index] += byteCount
            next = unsafe rows[index].parent
        }
    }

    /// Takes the growth of the quotas, or says which one would be exceeded.
    ///
    /// A refusal leaves everything as it was.
    func take(_ growth: QuotaGrowth) throws(StoreFull) {
        // The longest prefixes stand last.
        for index in growth.byteCounts.indices.reversed() where growth.byteCounts[index] > 0 {
            do throws(StoreFull) {
                try take(growth.byteCounts[index], index)
            } catch {
                giveBackTaken(growth, behind: index)
                throw error
            }
        }
    }

    /// Gives back the growth that was taken, because the change is refused.
    ///
    /// Only the growth of the rows after `row`.
    func giveBackTaken(_ growth: QuotaGrowth, behind row: Int = -1) {
        for index in growth.byteCounts.indices where index > row && growth.byteCounts[index] > 0 {
            unsafe counts[index].used.subtract(growth.byteCounts[index], ordering: .releasing)
        }
    }

    /// Gives back the bytes by which the quotas shrink.
    func giveBackShrinking(_ growth: QuotaGrowth) {
        for index in growth.byteCounts.indices where growth.byteCounts[index] < 0 {
            unsafe counts[index].used.subtract(-growth.byteCounts[index], ordering: .releasing)
        }
    }
}

/// The bytes by which a change of several properties makes each quota grow.
///
/// Only the sum counts: a change that moves bytes inside a quota does not make it grow.
struct QuotaGrowth {
    /// One for each row; none if the change has no name with a quota.
    fileprivate var byteCounts: [Int] = []
}
