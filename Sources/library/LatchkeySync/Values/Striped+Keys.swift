// The access functions of `Striped` by key: the key's hash chooses the stripe. They lend the value
// of the stripe, which other keys share.

extension Striped {
    /// The stripe of a key, by its hash.
    ///
    /// The same for equal keys, in one run of the program: hashes differ from run to run.
    @inlinable public func index(of key: some Hashable) -> Int {
        index(hash: key.hashValue)
    }
}

extension Striped where ChosenStrategy: BlockingStrategy {
    /// As ``Synchronized/read(fileID:line:_:)`` of the key's stripe.
    ///
    /// ```swift
    /// let scores = Striped<[String: Int], SpinStrategy> { _ in [:] }
    /// let score = scores.read(key: "ada") { $0["ada"] }
    /// ```
    @inlinable public func read<Result, Failure: Error>(
        key: some Hashable,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try with(index(of: key)) { (stripe) throws(Failure) -> Result in
            try stripe.read(AccessRequest(.read, at: CallSite(fileID, line)), "read(key:)", body)
        }
    }

    /// As ``Synchronized/write(fileID:line:_:)`` of the key's stripe.
    ///
    /// ```swift
    /// let scores = Striped<[String: Int], SpinStrategy> { _ in [:] }
    /// scores.write(key: "ada") { $0["ada", default: 0] += 1 }
    /// ```
    @inlinable public func write<Result, Failure: Error>(
        key: some Hashable,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try with(index(of: key)) { (stripe) throws(Failure) -> Result in
            try stripe.write(CallSite(fileID, line), "write(key:)", body)
        }
    }

    /// Runs `body` with the values of the keys' stripes at one moment.
    ///
    /// Takes each stripe once, in ascending order, and holds them all: keys in any order, from any
    /// thread, never wait for each other in a circle. Blocks until it has them. No write to any of
    /// them takes effect meanwhile. There must be a key; equal ones count once. The body must not
    /// enter a stripe.
    @inlinable public func read<Key: Hashable, Result, Failure: Error>(
        keys: some Sequence<Key>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (ValuesByKey<Key, Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (stripes, places) = places(of: keys)
        let strategies = stripes.map { self.strategies[$0] }
        let guarded = stripes.map { self.guarded[$0] }
        let request = AccessRequest(.read, at: CallSite(fileID, line), keepsWritersOut: true)
        return try read(strategies, guarded, request, "read(keys:)") {
            (values) throws(Failure) -> Result in
            try body(ValuesByKey(values, places))
        }
    }

    /// Runs `body` with the values of the keys' stripes, all of which it may change: a reader of
    /// all of them at once sees all of the changes or none.
    ///
    /// ```swift
    /// let accounts = Striped<[String: Int], SpinStrategy> { _ in [:] }
    /// accounts.write(keys: ["ada", "bob"]) {
    ///     $0["ada"]["ada", default: 0] -= 10
    ///     $0["bob"]["bob", default: 0] += 10
    /// }
    /// ```
    ///
    /// Enters as ``read(keys:fileID:line:_:)``. Two keys can have one stripe, and then find one
    /// value. The values are those of ``write(several:fileID:line:_:)``.
    @inlinable public func write<Key: Hashable, Result, Failure: Error>(
        keys: some Sequence<Key>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout ValuesByKey<Key, Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (stripes, places) = places(of: keys)
        return try write(several: stripes, CallSite(fileID, line), "write(keys:)") {
            (values) throws(Failure) -> Result in
            // Moved out and back: a copy of the array would make each change of a value copy it.
            var byKey = ValuesByKey<Key, Value>([], places)
            swap(&byKey.values, &values)
            defer { swap(&byKey.values, &values) }
            return try body(&byKey)
        }
    }

    /// The keys' stripes, in ascending order, and the place of each key among them.
    @inlinable func places<Key: Hashable>(of keys: some Sequence<Key>) -> ([Int], [Key: Int]) {
        var stripeOfKey: [Key: Int] = [:]
        for key in keys {
            stripeOfKey[key] = index(of: key)
        }
        let stripes = Set(stripeOfKey.values).sorted()
        precondition(!stripes.isEmpty, "Several keys are one at least.")
        let placeOfStripe = Dictionary(uniqueKeysWithValues: zip(stripes, stripes.indices))
        return (stripes, stripeOfKey.compactMapValues { placeOfStripe[$0] })
    }
}

/// The values of some stripes, found by key.
///
/// Belongs to the body that it is given to.
public struct ValuesByKey<Key: Hashable, Value> {
    @usableFromInline var values: [Value]
    @usableFromInline let places: [Key: Int]

    @inlinable init(_ values: [Value], _ places: [Key: Int]) {
        self.values = values
        self.places = places
    }

    /// The value of the key's stripe.
    ///
    /// The key must be one of those that were named. Another one stops the program, also if it
    /// happens to have one of their stripes.
    @inlinable public subscript(key: Key) -> Value {
        get { values[place(of: key)] }
        _modify { yield &values[place(of: key)] }
    }

    @inlinable func place(of key: Key) -> Int {
        guard let place = places[key] else {
            preconditionFailure("The key is not one of those whose stripes were entered.")
        }
        return place
    }
}
