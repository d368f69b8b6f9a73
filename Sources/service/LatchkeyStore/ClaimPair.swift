/// The prefixes of a pop with a claim: of the names that it takes and of the claims' names.
struct ClaimPair: Sendable, Equatable {
    let prefix: PropertyName
    let claim: PropertyName

    /// The name of the claim on a property of the prefix; nil if it would be too long.
    func claim(on name: PropertyName) -> PropertyName? {
        unsafe Self.name(claim, name.bytes[prefix.bytes.count...])
    }

    /// The bytes of that name, also if it would be too long.
    func claimBytes(on property: Property) -> OwnedBytes {
        unsafe OwnedBytes(copying: claim.bytes, rest(of: property))
    }

    /// The part of a name after the prefix.
    func rest(of property: Property) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(rebasing: property.nameBytes[prefix.bytes.count...])
    }

    /// The name of the property that this one claims; nil if it is not a claim of this pair.
    func claimed(by name: PropertyName) -> PropertyName? {
        unsafe name.bytes.begins(with: claim.bytes)
            ? Self.name(prefix, name.bytes[claim.bytes.count...]) : nil
    }

    /// Whether both prefixes of another pair are longer by the same text: its claims are claims of
    /// this pair, too.
    func isWider(than other: ClaimPair) -> Bool {
        let (count, otherCount) = unsafe (prefix.bytes.count, other.prefix.bytes.count)
        guard count < otherCount, unsafe other.prefix.bytes.begins(with: prefix.bytes),
            unsafe other.claim.bytes.begins(with: claim.bytes)
        else {
            return false
        }
        let rest = unsafe UnsafeRawBufferPointer(rebasing: other.prefix.bytes[count...])
        let claimCount = unsafe claim.bytes.count
        return unsafe UnsafeRawBufferPointer(rebasing: other.claim.bytes[claimCount...])
            .equals(rest)
    }

    /// In memory of its own.
    func copy() -> Self { Self(prefix: prefix.copy(), claim: claim.copy()) }

    private static func name(
        _ prefix: PropertyName,
        _ rest: Slice<UnsafeRawBufferPointer>
    ) -> PropertyName? {
        let rest = unsafe UnsafeRawBufferPointer(rebasing: rest)
        let owner = unsafe OwnedBytes(copying: prefix.bytes, rest)
        return try? unsafe PropertyName(borrowing: owner.bytes, owner: owner)
    }
}

/// The pairs of all ``ClaimQueues``.
struct ClaimPairs: Sendable {
    var version = 0
    var all: [ClaimPair] = []

    /// Whether the name begins with a prefix of some pair.
    func concern(_ name: PropertyName) -> Bool {
        all.contains {
            unsafe name.bytes.begins(with: $0.prefix.bytes)
                || name.bytes.begins(with: $0.claim.bytes)
        }
    }
}

extension Transaction {
    /// How many pairs of prefixes the pops with claims of both branches have, each once.
    var claimPairCount: Int {
        var pairs: [ClaimPair] = []
        for steps in [steps, otherwise] {
            for step in steps {
                guard case .pop(let claim?) = step.action else { continue }
                let pair = ClaimPair(prefix: step.name, claim: claim.prefix)
                if !pairs.contains(pair) {
                    pairs.append(pair)
                }
            }
        }
        return pairs.count
    }
}
