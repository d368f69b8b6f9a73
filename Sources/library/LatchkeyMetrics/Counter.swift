/// A count that only grows, kept per thread and added up when it is read.
///
/// A handle: copies count together. Adding takes no lock and allocates at a thread's first touch
/// only.
@usableFromInline package struct Counter: Sendable {
    @usableFromInline let words: PerThreadCounters
    @usableFromInline let offset: Int

    init(words: PerThreadCounters, offset: Int) {
        self.words = words
        self.offset = offset
    }

    /// A counter outside any registry.
    package init() {
        self.init(words: PerThreadCounters(wordCount: 1), offset: 0)
    }

    @inlinable
    package func add(_ amount: UInt64 = 1) {
        words.add(amount, at: offset)
    }

    package var value: UInt64 {
        words.sum(at: offset)
    }
}
