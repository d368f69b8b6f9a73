public import CLatchkeySystem
public import Synchronization

/// 64-bit words of which every thread has its own, and any thread can add up all.
///
/// **Design.** A table with one place per thread index leads to the thread's *cell*: `wordCount`
/// words, rounded up to whole cache lines, so that no two threads write to one line. A cell has
/// one writer, the thread whose index leads to it, which therefore adds by a relaxed load and a
/// relaxed store: no read-modify-write instruction and no lock. A cell is allocated when its
/// thread comes for the first time and lives as long as the table; a later thread with the same
/// index counts on in it.
///
/// Threads without an index of their own (``LATCHKEY_SYSTEM_THREADS_MAX`` are taken) share one
/// more cell and add atomically. The table's place 0 stays empty, so that one test for an empty
/// place sends both them and a thread's first visit away from the fast path.
///
/// A reading adds up all cells, each word by itself. A sum includes everything that happened before
/// the read and possibly later additions; two words that are read together need not agree. The
/// order of one thread's words, as another thread sees them, is not promised.
///
/// SAFETY: `@safe` because this class alone allocates and frees the cells and every offset is the
/// caller's own constant below `wordCount`, checked in debug builds. `@unchecked Sendable` because
/// the words are atomic, and a place is written once, by its thread.
@safe
@usableFromInline package final class PerThreadCounters: @unchecked Sendable {
    /// The words that each thread has.
    @usableFromInline package let wordCount: Int
    /// The way to each thread's cell.
    ///
    /// Saves a caller the way through this object.
    @usableFromInline package let table: Table
    @usableFromInline let shared: UnsafeMutablePointer<Atomic<UInt64>>

    package init(wordCount: Int) {
        precondition(wordCount > 0, "A cell without words cannot count.")
        self.wordCount = wordCount
        let places = Int(LATCHKEY_SYSTEM_THREADS_MAX)
        let table = UnsafeMutablePointer<Table.CellPointer>.allocate(capacity: places)
        for place in 0..<places {
            unsafe (table + place).initialize(to: Table.CellPointer(nil))
        }
        unsafe self.table = Table(places: table)
        unsafe shared = Self.makeCell(wordCount)
    }

    deinit {
        for place in 0..<Int(latchkey_system_thread_index_end()) {
            unsafe table.places[place].load(ordering: .acquiring)?.deallocate()
        }
        unsafe table.places.deallocate()
        unsafe shared.deallocate()
    }

    /// The calling thread's own cell, or `nil` if it must go through ``firstVisit()``.
    @inlinable package var ownCell: ThreadCell? { table.ownCell }

    /// The calling thread's own cell, made now if need be, or `nil` if the thread has no index and
    /// must add to ``sharedCell``.
    @inline(never)
    package func firstVisit() -> ThreadCell? {
        let index = Int(latchkey_system_thread_index())
        guard index != 0 else { return nil }
        if let cell = ownCell { return cell }
        let words = unsafe Self.makeCell(wordCount)
        // Releasing: pairs with the acquiring load in `forEachCell`, which reads the zeros.
        unsafe table.places[index].store(words, ordering: .releasing)
        return unsafe ThreadCell(words)
    }

    /// The cell of all threads without an index.
    @inlinable package var sharedCell: SharedCell {
        unsafe SharedCell(shared)
    }

    /// Adds to one of the calling thread's words, whatever kind of thread it is.
    @inlinable
    package func add(_ amount: UInt64, at offset: Int) {
        assert(offset < wordCount, "The word is not in the cell.")
        if let cell = ownCell {
            cell.add(amount, at: offset)
        } else {
            addAtFirstVisit(amount, at: offset)
        }
    }

    @usableFromInline @inline(never)
    func addAtFirstVisit(_ amount: UInt64, at offset: Int) {
        if let cell = firstVisit() {
            cell.add(amount, at: offset)
        } else {
            sharedCell.add(amount, at: offset)
        }
    }

    /// Raises one of the calling thread's words to `value` if it is less.
    package func raise(to value: UInt64, at offset: Int) {
        if let cell = ownCell ?? firstVisit() {
            cell[offset] = max(cell[offset], value)
        } else {
            sharedCell.raise(to: value, at: offset)
        }
    }

    /// The word summed over all threads, those that have ended included.
    package func sum(at offset: Int) -> UInt64 {
        var sum: UInt64 = 0
        forEachCell { cell in sum &+= cell[offset] }
        return sum
    }

    /// Calls `body` with every cell that a thread has visited, and with the shared one.
    package func forEachCell(_ body: (ThreadCell) -> Void) {
        unsafe body(ThreadCell(shared))
        for index in 1..<max(1, Int(latchkey_system_thread_index_end())) {
            if let words = unsafe table.places[index].load(ordering: .acquiring) {
                unsafe body(ThreadCell(words))
            }
        }
    }

    private static func makeCell(_ wordCount: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let line = 64
        let size = (wordCount * MemoryLayout<UInt64>.size + line - 1) / line * line
        let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: line)
        let words = unsafe memory.bindMemory(to: Atomic<UInt64>.self, capacity: wordCount)
        for offset in 0..<wordCount {
            unsafe (words + offset).initialize(to: Atomic(0))
        }
        return unsafe words
    }
}

extension PerThreadCounters {
    /// One place per thread index, which leads to the thread's cell.
    ///
    /// SAFETY: `@safe`, `@unchecked Sendable` because it is used only while its
    /// ``PerThreadCounters`` lives, a thread's index is below the number of places, and the places
    /// are atomic.
    @safe
    @usableFromInline package struct Table: @unchecked Sendable {
        @usableFromInline package typealias CellPointer = Atomic<
            UnsafeMutablePointer<Atomic<UInt64>>?
        >

        @usableFromInline let places: UnsafeMutablePointer<CellPointer>

        init(places: UnsafeMutablePointer<CellPointer>) {
            unsafe self.places = places
        }

        /// The calling thread's own cell, or `nil` if it must go through ``firstVisit()``.
        @inlinable package var ownCell: ThreadCell? {
            // Relaxed: the thread itself, or one that ended before it began, stored what it reads.
            let index = Int(latchkey_system_thread_index())
            guard let words = unsafe places[index].load(ordering: .relaxed) else { return nil }
            return unsafe ThreadCell(words)
        }
    }

    /// The words of one thread.
    ///
    /// Only that thread changes them; any thread may read.
    ///
    /// SAFETY: `@safe` because it is used only while its ``PerThreadCounters`` lives, and offsets
    /// are constants below `wordCount`.
    @safe
    @usableFromInline package struct ThreadCell {
        @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>

        @inlinable
        init(_ words: UnsafeMutablePointer<Atomic<UInt64>>) {
            unsafe self.words = words
        }

        /// Relaxed throughout: a word stands for itself and orders nothing.
        @inlinable package subscript(offset: Int) -> UInt64 {
            get { unsafe words[offset].load(ordering: .relaxed) }
            nonmutating set { unsafe words[offset].store(newValue, ordering: .relaxed) }
        }

        @inlinable
        package func add(_ amount: UInt64, at offset: Int) {
            self[offset] = self[offset] &+ amount
        }
    }

    /// The words of all threads that have no index.
    ///
    /// SAFETY: as ``ThreadCell``.
    @safe
    @usableFromInline package struct SharedCell {
        @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>

        @inlinable
        init(_ words: UnsafeMutablePointer<Atomic<UInt64>>) {
            unsafe self.words = words
        }

        /// Adds and returns the sum.
        @inlinable
        @discardableResult
        package func add(_ amount: UInt64, at offset: Int) -> UInt64 {
            unsafe words[offset].wrappingAdd(amount, ordering: .relaxed).newValue
        }

        @inlinable
        package func raise(to value: UInt64, at offset: Int) {
            unsafe words[offset].max(value, ordering: .relaxed)
        }
    }
}
