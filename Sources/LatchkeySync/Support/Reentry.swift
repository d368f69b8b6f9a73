internal import CLatchkeySystem

/// What happens when a thread that is inside a value's guarded section enters it again.
///
/// One contract for all strategies: reading inside a read works where
/// ``StrategyTraits/isReentrant`` says so; everything else stops the process with a sentence that
/// names the strategy and the two places. A write never nests, whatever the strategy: two `inout`
/// accesses to one value would overlap. Pass the `inout` value down instead of entering again.
///
/// **Design.** A thread's accesses form a list on its own stack, whose head is thread-local: each
/// door adds its access for the time of the call and looks for the same cell first. That is done
/// in checked builds only, which are debug builds and those with `-D LATCHKEY_CHECKED`; elsewhere
/// a nested access does what the primitive does, which each strategy's page says.
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
        _ cell: Cell<Value>,
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

    /// Runs `enter`, which enters all cells for reading and holds writers.
    @inlinable
    @inline(__always)
    static func checking<Guard: Strategy, Value, Result, Failure: Error>(
        _ strategy: Guard.Type,
        _ cells: ArraySlice<Cell<Value>>,
        _ caller: Caller,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        return try holdingAll(strategy, cells, caller, enter)
        #else
        return try enter()
        #endif
    }

    @usableFromInline
    static func holdingAll<Guard: Strategy, Value, Result, Failure: Error>(
        _ strategy: Guard.Type,
        _ cells: ArraySlice<Cell<Value>>,
        _ caller: Caller,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let cell = cells.first else {
            return try enter()
        }
        return try holding(strategy, ObjectIdentifier(cell), .readHoldingWriters, caller) {
            () throws(Failure) -> Result in
            try holdingAll(strategy, cells.dropFirst(), caller, enter)
        }
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
        let head = unsafe latchkey_system_held_accesses()
        var access = unsafe HeldAccess(cell: cell, door: door, caller: caller, outer: head)
        if let outer = access.enclosing(of: cell), !Guard.traits.allows(door, inside: outer.door) {
            stop(door, inside: outer.door, Guard.name, caller, outer.caller)
        }
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
/// SAFETY: `@safe` because `outer` is on the same thread's stack, in a frame that encloses this
/// one's.
@safe
private struct HeldAccess {
    let cell: ObjectIdentifier
    let door: Reentry.Door
    let caller: Caller
    let outer: UnsafeMutableRawPointer?

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
