internal import CLatchkeySystem

/// Checks whether a thread that is inside a value's guarded section may enter it again.
///
/// One contract for all strategies: reading inside a read works if ``StrategyTraits/isReentrant``
/// is true; any other nested access stops the process with a sentence that names the strategy and
/// both places. A write never nests under any strategy, because two `inout` accesses to one value
/// would overlap. Pass the `inout` value down instead.
///
/// **Design.** A thread's accesses form a list whose head is thread-local: each access function
/// adds its access for the time of the call and looks for the same value first. That is done in
/// checked builds only, which are debug builds and those with the package trait `LATCHKEY_CHECKED`;
/// elsewhere a nested access does what the primitive does, which each strategy's page says.
@usableFromInline
enum Reentry {
    /// The access functions of ``Synchronized`` and ``Striped``, by name.
    ///
    /// A constant of one byte, so that it costs nothing where nothing is checked.
    @usableFromInline
    enum Access: String {
        case read
        case readDeadline = "read(deadline:)"
        case readWhen = "read(when:)"
        case readKey = "read(key:)"
        case submitRead
        case asyncRead
        case value
        case dynamicMember = "dynamic member look-up"
        case readHoldingWriters
        case readAll
        case readKeys = "read(keys:)"
        case submitReadAll
        case write
        case writeNewValue = "write(_ newValue:)"
        case writeDeadline = "write(deadline:)"
        case writeWhen = "write(when:)"
        case writeKey = "write(key:)"
        case writeKeys = "write(keys:)"
        case writeSeveral = "write(several:)"
        case submitWrite
        case submitWriteSeveral = "submitWrite(several:)"
        case asyncWrite
        case tryWrite
        case exchange
        case withLock
        case withLockIfAvailable

        /// What the access keeps out.
        fileprivate enum Kind {
            case read
            case readHoldingWriters
            case write
        }

        fileprivate var kind: Kind {
            switch self {
            case .read, .readDeadline, .readKey, .submitRead, .asyncRead, .value, .dynamicMember:
                .read
            case .readHoldingWriters, .readAll, .readKeys, .submitReadAll: .readHoldingWriters
            // Inside a read, a wait for a condition would have no end: no write could fulfil it.
            case .readWhen, .write, .writeNewValue, .writeDeadline, .writeWhen, .writeKey,
                .writeKeys, .writeSeveral, .submitWrite, .submitWriteSeveral, .asyncWrite,
                .tryWrite, .exchange, .withLock, .withLockIfAvailable:
                .write
            }
        }
    }

    /// Runs `enter`, which is an access to the value.
    @inlinable
    @inline(__always)
    static func checking<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ strategy: any Strategy.Type,
        _ guarded: GuardedValue<Value>,
        _ access: Access,
        _ caller: CallSite,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        return try holding(strategy, ObjectIdentifier(guarded), access, caller, enter)
        #else
        return try enter()
        #endif
    }

    /// Runs `enter`, which is an access to all of the values.
    @inlinable
    @inline(__always)
    static func checking<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ strategy: any Strategy.Type,
        _ guarded: [GuardedValue<Value>],
        _ access: Access,
        _ caller: CallSite,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        return try holdingAll(strategy, guarded, access, caller, enter)
        #else
        return try enter()
        #endif
    }

    @usableFromInline
    static func holdingAll<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ strategy: any Strategy.Type,
        _ guarded: [GuardedValue<Value>],
        _ access: Access,
        _ caller: CallSite,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let head = unsafe latchkey_system_held_accesses()
        // SAFETY: the accesses leave the list before their memory ends. On the heap, because there
        // can be a thousand.
        let accesses = UnsafeMutablePointer<HeldAccess>.allocate(capacity: guarded.count)
        defer {
            unsafe latchkey_system_hold_accesses(head)
            unsafe accesses.deallocate()
        }
        for (index, guarded) in guarded.enumerated() {
            let held = unsafe accesses + index
            unsafe held.initialize(
                to: HeldAccess(strategy, ObjectIdentifier(guarded), access, caller)
            )
            unsafe latchkey_system_hold_accesses(held)
        }
        return try enter()
    }

    /// Checks, and keeps the access in the thread's list while `enter` runs.
    @usableFromInline
    static func holding<Result: ~Copyable, Failure: Error>(
        _ strategy: any Strategy.Type,
        _ value: ObjectIdentifier,
        _ access: Access,
        _ caller: CallSite,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var held = HeldAccess(strategy, value, access, caller)
        return try unsafe withUnsafeMutablePointer(to: &held) {
            (held: UnsafeMutablePointer<HeldAccess>) throws(Failure) -> Result in
            // SAFETY: the access leaves the list before its memory ends.
            unsafe latchkey_system_hold_accesses(held)
            defer { unsafe latchkey_system_hold_accesses(held.pointee.outer) }
            return try enter()
        }
    }

    @usableFromInline
    static func stop(
        _ access: Access,
        inside outer: Access,
        _ name: String,
        _ caller: CallSite? = nil,
        _ outerCaller: CallSite? = nil
    ) -> Never {
        let location = caller?.location ?? ""
        let outerLocation = outerCaller?.location ?? ""
        fatalError(
            """
            Latchkey: \(access.rawValue)\(location) inside \(outer.rawValue)\(outerLocation) of \
            the same value, guarded by '\(name)'. Pass the value down instead of entering again.
            """
        )
    }
}

/// One access of the calling thread, and the one that it is nested in.
///
/// SAFETY: `@safe` because `outer` belongs to a call of the same thread that encloses this one's.
@safe
private struct HeldAccess {
    let value: ObjectIdentifier
    let access: Reentry.Access
    let caller: CallSite
    let outer: UnsafeMutableRawPointer?

    /// Stops if the thread must not enter the value now.
    init(
        _ strategy: any Strategy.Type,
        _ value: ObjectIdentifier,
        _ access: Reentry.Access,
        _ caller: CallSite
    ) {
        self.value = value
        self.access = access
        self.caller = caller
        unsafe outer = latchkey_system_held_accesses()
        if let outer = enclosing(of: value),
            !strategy.traits.allows(access, inside: outer.access)
        {
            Reentry.stop(access, inside: outer.access, strategy.name, caller, outer.caller)
        }
    }

    /// The innermost access to `value` that this one is nested in.
    func enclosing(of value: ObjectIdentifier) -> HeldAccess? {
        var next = unsafe outer
        while let address = unsafe next {
            let held = unsafe address.load(as: HeldAccess.self)
            if held.value == value {
                return held
            }
            unsafe next = held.outer
        }
        return nil
    }
}

extension StrategyTraits {
    /// Whether a thread may make an access while it is inside by `outer`.
    fileprivate func allows(_ access: Reentry.Access, inside outer: Reentry.Access) -> Bool {
        guard isReentrant, access.kind != .write, outer.kind != .write else {
            return false
        }
        return access.kind == .read || outer.kind == .read
    }
}
