internal import LatchkeyHTTP
internal import Synchronization

/// Bytes of the body of an import, in the order in which they came.
///
/// SAFETY: `@safe` because every access is inside the memory, which lives as long as the object.
/// `@unchecked Sendable` because one thread after the other adds bytes, and nobody does any more
/// once they are read.
@safe
final class ImportBuffer: @unchecked Sendable {
    private var memory: UnsafeMutableRawBufferPointer
    private var byteCount = 0
    /// What is given back to the account with the object.
    private var account: (memory: ImportMemory, byteCount: Int)?

    /// - Parameter capacity: How many bytes there is room for at first.
    init(capacity: Int) {
        unsafe memory = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe memory.deallocate()
        if let account {
            account.memory.giveBack(account.byteCount)
        }
    }

    var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: memory[..<byteCount])
    }

    /// How many bytes its memory has.
    var capacity: Int { unsafe memory.count }

    /// How many bytes can be added without other memory.
    var roomByteCount: Int { unsafe memory.count - byteCount }

    /// Makes room for this many bytes in all, if the account has them.
    func grow(to capacity: Int, from account: ImportMemory) {
        let charged = self.account?.byteCount ?? 0
        guard unsafe capacity > memory.count, account.take(capacity - charged) else {
            return
        }
        self.account = (account, capacity)
        reserve(capacity)
    }

    /// Adds bytes, in other memory if there is no room: twice as much, unless an account counts it.
    func append(_ added: UnsafeRawBufferPointer) {
        if roomByteCount < added.count {
            unsafe reserve(max(byteCount + added.count, account == nil ? 2 * memory.count : 0))
        }
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[byteCount...])
            .copyMemory(from: added)
        byteCount += added.count
    }

    private func reserve(_ capacity: Int) {
        let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
        unsafe larger.copyMemory(from: bytes)
        unsafe memory.deallocate()
        unsafe memory = larger
    }
}

/// The bytes of bodies that wait in all imports, beyond one piece of each.
///
/// At the bound an import takes one piece after the other.
///
/// **Design.** A counter, which any thread changes. It orders nothing.
final class ImportMemory: Sendable {
    static let standardByteCountMax = 32 << 20

    private let byteCountMax: Int
    private let used = Atomic(0)

    init(byteCountMax: Int = standardByteCountMax) {
        self.byteCountMax = byteCountMax
    }

    var byteCount: Int { used.load(ordering: .relaxed) }

    /// Takes bytes, or none if there are fewer.
    func take(_ count: Int) -> Bool {
        let now = used.add(count, ordering: .relaxed).newValue
        guard now <= byteCountMax else {
            giveBack(count)
            return false
        }
        return true
    }

    func giveBack(_ count: Int) {
        used.subtract(count, ordering: .relaxed)
    }
}
