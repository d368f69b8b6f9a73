internal import CLatchkeySystem

/// What happens when a thread that is inside a value's guarded section enters it again.
///
/// One contract for all strategies: reading inside a read works where
/// ``StrategyTraits/isReentrant`` says so; everything else stops the process with a sentence that
/// names the strategy and the two places. A write never nests, whatever the strategy: two `inout`
/// accesses to one value would overlap. Pass the `inout` value down instead of entering again.
///
/// **Design.** A thread's accesses form a list whose head is thread-local: each door adds its
/// access for the time of the call and looks for the same cell first. That is done in checked
/// builds only, which are debug builds and those with `-D LATCHKEY_CHECKED`; elsewhere a nested
/// access does what the primitive does, which each strategy's page says.
@usableFromInline
enum Reentry {
    /// A door of ``Synchronized``, by what it excludes.
    @usableFromInline
    enum Door: String {
        case read
        case readHoldingWriters = "readHoldingWriters"
        case write
    }

    /// Runs `enter`, which enters the cell through `door`.
    @inlinable
    @inline(__always)
    static func checking<Guard: Strategy, Value, Result, Failure: Error>(
        _ strategy: Guard.Type,
        _ cell: GuardedValue<Value>,
        _ door: Door,
        _ caller: Caller,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        return try holding(strategy, ObjectIdentifier(cell), door, caller, enter)
        #else
        return try enter()
        #endif
    }

    /// Runs `enter`, which enters all cells through `door`.
    @inlinable
    @inline(__always)
    static func checking<Guard: Strategy, Value, Result, Failure: Error>(
        _ strategy: Guard.Type,
        _ cells: [GuardedValue<Value>],
        _ door: Door,
        _ caller: Caller,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        return try holdingAll(strategy, cells, door, caller, enter)
        #else
        return try enter()
        #endif
    }

    @usableFromInline
    static func holdingAll<Guard: Strategy, Value, Result, Failure: Error>(
        _ strategy: Guard.Type,
        _ cells: [GuardedValue<Value>],
        _ door: Door,
        _ caller: Caller,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let head = unsafe latchkey_system_held_accesses()
        // SAFETY: the accesses leave the list before their memory ends. On the heap, because there
        // can be a thousand.
        let accesses = UnsafeMutablePointer<HeldAccess>.allocate(capacity: cells.count)
        defer {
            unsafe latchkey_system_hold_accesses(head)
            unsafe accesses.deallocate()
        }
        for (index, cell) in cells.enumerated() {
            let access = unsafe accesses + index
            unsafe access.initialize(
                to: HeldAccess(strategy, ObjectIdentifier(cell), door, caller)
            )
            unsafe latchkey_system_hold_accesses(access)
        }
        return try enter()
    }

    /// Checks, and keeps the access in the thread's list while `enter` runs.
    @usableFromInline
    static func holding<Guard: Strategy, Result, Failure: Error>(
        _ strategy: Guard.Type,
        _ cell: ObjectIdentifier,
        _ door: Door,
        _ caller: Caller,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var access = HeldAccess(strategy, cell, door, caller)
        return try unsafe withUnsafeMutablePointer(to: &access) {
            (access: UnsafeMutablePointer<HeldAccess>) throws(Failure) -> Result in
            // SAFETY: the access leaves the list before its memory ends.
            unsafe latchkey_system_hold_accesses(access)
            defer { unsafe latchkey_system_hold_accesses(access.pointee.outer) }
            return try enter()
        }
    }

    @usableFromInline
    static func stop(
        _ door: Door,
        inside outer: Door,
        _ name: String,
        _ caller: Caller? = nil,
        _ outerCaller: Caller? = nil
    ) -> Never {
        let place = caller.map { " at \($0)" } ?? ""
        let outerPlace = outerCaller.map { " at \($0)" } ?? ""
        fatalError(
            """
            Latchkey: \(door.rawValue)\(place) inside \(outer.rawValue)\(outerPlace) of the same \
            value, guarded by '\(name)'. Pass the value down instead of entering again.
            """
        )
    }
}

/// Where a door was called.
@usableFromInline
struct Caller: CustomStringConvertible, Sendable {
    let fileID: StaticString
    let line: UInt

    @usableFromInline
    init(_ fileID: StaticString, _ line: UInt) {
        self.fileID = fileID
        self.line = line
    }

    @usableFromInline var description: String { "\(fileID):\(line)" }
}

/// One access of the calling thread, and the one that it is nested in.
///
/// SAFETY: `@safe` because `outer` belongs to a call of the same thread that encloses this one's.
@safe
private struct HeldAccess {
    let cell: ObjectIdentifier
    let door: Reentry.Door
    let caller: Caller
    let outer: UnsafeMutableRawPointer?

    /// Stops if the thread must not enter the cell now.
    init<Guard: Strategy>(
        _ strategy: Guard.Type,
        _ cell: ObjectIdentifier,
        _ door: Reentry.Door,
        _ caller: Caller
    ) {
        self.cell = cell
        self.door = door
        self.caller = caller
        unsafe outer = latchkey_system_held_accesses()
        if let outer = enclosing(of: cell), !Guard.traits.allows(door, inside: outer.door) {
            Reentry.stop(door, inside: outer.door, Guard.name, caller, outer.caller)
        }
    }

    /// The innermost access to `cell` that this one is nested in.
    func enclosing(of cell: ObjectIdentifier) -> HeldAccess? {
        var next = unsafe outer
        while let address = unsafe next {
            let access = unsafe address.load(as: HeldAccess.self)
            if access.cell == cell {
                return access
            }
            unsafe next = access.outer
        }
        return nil
    }
}

extension StrategyTraits {
    /// Whether a thread may enter by `door` while it is inside by `outer`.
    fileprivate func allows(_ door: Reentry.Door, inside outer: Reentry.Door) -> Bool {
        guard isReentrant, door != .write, outer != .write else {
            return false
        }
        return door == .read || outer == .read
    }
}
