internal import CLatchkeySystem

/// Checks whether a thread that is inside a value's guarded section may enter it again.
///
/// One contract for all strategies: reading inside a read works if ``StrategyTraits/isReentrant``
/// is true; any other nested access stops the process with a message that names the strategy and
/// both places. A write never nests under any strategy, because two `inout` accesses to one value
/// would overlap. Pass the `inout` value down instead.
///
/// **Design.** A thread's accesses form a list whose head is thread-local: each access function
/// adds its access for the time of the call and looks for the same value first. That is done in
/// checked builds only, which are debug builds and those with the package trait `LATCHKEY_CHECKED`;
/// elsewhere a nested access does what the primitive does, which each strategy's page says.
@usableFromInline enum Reentry {
    /// Runs `enter`, which is an access to the value by the function of that name.
    @inlinable @inline(__always)
    static func checking<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ strategy: some Strategy,
        _ guarded: GuardedValue<Value>,
        _ request: AccessRequest,
        _ name: StaticString,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        let strategy = type(of: strategy.erased)
        return try holding(strategy, ObjectIdentifier(guarded), request, name, enter)
        #else
        return try enter()
        #endif
    }

    /// Runs `enter`, which is an access to all of the values.
    @inlinable @inline(__always)
    static func checking<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ strategies: [some Strategy],
        _ guarded: [GuardedValue<Value>],
        _ request: AccessRequest,
        _ name: StaticString,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        return try holdingAll(type(of: strategies[0].erased), guarded, request, name, enter)
        #else
        return try enter()
        #endif
    }

    @usableFromInline static func holdingAll<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ strategy: any Strategy.Type,
        _ guarded: [GuardedValue<Value>],
        _ request: AccessRequest,
        _ name: StaticString,
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
                to: HeldAccess(strategy, ObjectIdentifier(guarded), request, name)
            )
            unsafe latchkey_system_hold_accesses(held)
        }
        return try enter()
    }

    /// Checks, and keeps the access in the thread's list while `enter` runs.
    @usableFromInline static func holding<Result: ~Copyable, Failure: Error>(
        _ strategy: any Strategy.Type,
        _ value: ObjectIdentifier,
        _ request: AccessRequest,
        _ name: StaticString,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var held = HeldAccess(strategy, value, request, name)
        return try unsafe withUnsafeMutablePointer(to: &held) {
            (held: UnsafeMutablePointer<HeldAccess>) throws(Failure) -> Result in
            // SAFETY: the access leaves the list before its memory ends.
            unsafe latchkey_system_hold_accesses(held)
            defer { unsafe latchkey_system_hold_accesses(held.pointee.outer) }
            return try enter()
        }
    }

    /// Asks the condition of an access by the function of that name; it may enter no value.
    @inlinable @inline(__always) static func asking<Value: ~Copyable>(
        _ guarded: GuardedValue<Value>,
        _ name: StaticString,
        _ site: CallSite,
        _ condition: () -> Bool
    ) -> Bool {
        #if DEBUG || LATCHKEY_CHECKED
        return holding(conditionOf: ObjectIdentifier(guarded), name, site, condition)
        #else
        return condition()
        #endif
    }

    @usableFromInline static func holding(
        conditionOf value: ObjectIdentifier,
        _ name: StaticString,
        _ site: CallSite,
        _ condition: () -> Bool
    ) -> Bool {
        var held = HeldAccess(conditionOf: value, AccessRequest(.write, at: site), name)
        return unsafe withUnsafeMutablePointer(to: &held) { held in
            // SAFETY: as in the function above.
            unsafe latchkey_system_hold_accesses(held)
            defer { unsafe latchkey_system_hold_accesses(held.pointee.outer) }
            return condition()
        }
    }

    /// Stops the process because of an access inside a condition.
    @usableFromInline static func stop(_ access: String, insideConditionOf outer: String) -> Never {
        fatalError(
            """
            Latchkey: \(access) inside the condition of \(outer). A condition compares the value \
            that it is given, and enters none: the thread that asks it would wait.
            """
        )
    }

    /// Stops the process because of an access inside another one.
    @usableFromInline
    static func stop(_ access: String, inside outer: String, _ strategy: String) -> Never {
        fatalError(
            """
            Latchkey: \(access) inside \(outer) of the same value, guarded by '\(strategy)'. Pass \
            the value down instead of entering again.
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
    let request: AccessRequest
    /// The access function.
    let name: StaticString
    /// Whether the entry stands for the condition of the access, not for the access itself.
    let isCondition: Bool
    let outer: UnsafeMutableRawPointer?

    /// The condition of an access of this or another thread, while the calling thread asks it.
    init(conditionOf value: ObjectIdentifier, _ request: AccessRequest, _ name: StaticString) {
        self.value = value
        self.request = request
        self.name = name
        isCondition = true
        unsafe outer = latchkey_system_held_accesses()
    }

    /// Stops if the thread must not enter the value now.
    init(
        _ strategy: any Strategy.Type,
        _ value: ObjectIdentifier,
        _ request: AccessRequest,
        _ name: StaticString
    ) {
        self.value = value
        self.request = request
        self.name = name
        isCondition = false
        unsafe outer = latchkey_system_held_accesses()
        if let asked = unsafe outer?.load(as: HeldAccess.self), asked.isCondition {
            Reentry.stop(sentence, insideConditionOf: asked.sentence)
        }
        if let outer = enclosing(of: value), !strategy.traits.allows(request, inside: outer.request)
        {
            Reentry.stop(sentence, inside: outer.sentence, strategy.name)
        }
    }

    /// The access function, and where it was called.
    private var sentence: String { "\(name)\(request.site.location)" }

    /// The innermost access to `value` that this one is nested in.
    func enclosing(of value: ObjectIdentifier) -> HeldAccess? {
        var next = unsafe outer
        while let address = unsafe next {
            let held = unsafe address.load(as: HeldAccess.self)
            if held.value == value { return held }
            unsafe next = held.outer
        }
        return nil
    }
}

extension StrategyTraits {
    /// Whether a thread may make an access while it is inside by `outer`.
    fileprivate func allows(_ request: AccessRequest, inside outer: AccessRequest) -> Bool {
        isReentrant && request.mode == .read && outer.mode == .read
            && !(request.keepsWritersOut && outer.keepsWritersOut)
    }
}

extension Strategy {
    /// The traits of the strategy that does the work, for checks.
    @inlinable var erasedTraits: StrategyTraits { type(of: erased).traits }
}
