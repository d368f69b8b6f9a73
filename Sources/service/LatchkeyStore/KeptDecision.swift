/// The part of a decision that the answer to the change shows, in a binary form: so a repeat of the
/// change, wherever it is sent to, gets the answer again.
///
/// | Part | Bytes |
/// |---|---|
/// | kind | 1: refusal 0, commit of one step 1, of a transaction 2 |
/// | refusal | 1: its code; of a step: number as varint, 1 for the branch, the step's refusal |
/// | commit | revision as varint, time |
/// | of one step | 1 for the reason, property |
/// | of a transaction | 1 if the conditions held, number of results as varint, results |
/// | result | property, revision, created, count as varints, 1 if some are left, expiry |
/// | property | 1 if there is one; name, value, revision and created as varints, expiry |
/// | name, value | length as varint, bytes; the value is empty unless it is shown |
/// | time, expiry | milliseconds as varint, 0 for never |
package struct KeptDecision: Sendable {
    package let bytes: [UInt8]

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Nil if a repeat is to be decided again: nothing was done, and the refusal does not follow
    /// from the change itself.
    package init?(_ decision: Decision, of change: Change) {
        var writer = BinaryWriter()
        switch decision {
        case .failure(let refusal):
            writer.bytes.append(Kind.refusal.rawValue)
            guard refusal.encode(to: &writer) else { return nil }
        case .success(let commit):
            commit.encode(to: &writer, change)
        }
        bytes = writer.bytes
    }

    /// The decision as a repeat gets it; nil if the bytes are not valid.
    package var decision: Decision? {
        var reader = BinaryReader(OwnedBytes(bytes))
        do throws(InvalidChange) {
            let decision = try Self.decision(&reader)
            return reader.isAtEnd ? decision : nil
        } catch {
            return nil
        }
    }

    /// The decision as a repeat of the change gets it; nil if it does not fit the change.
    package func decision(of change: Change) -> Decision? {
        guard let decision, case .success(let commit) = decision else { return self.decision }
        return commit.fits(change) ? decision : nil
    }

    private static func decision(
        _ reader: inout BinaryReader
    ) throws(InvalidChange) -> Decision {
        switch Kind(rawValue: try reader.byte()) {
        case .refusal: .failure(.repeated(try Refusal(decoding: &reader)))
        case .step: .success(try Commit(decoding: &reader, isTransaction: false))
        case .transaction: .success(try Commit(decoding: &reader, isTransaction: true))
        case nil: throw InvalidChange()
        }
    }

    fileprivate enum Kind: UInt8 {
        case refusal = 0
        case step = 1
        case transaction = 2
    }
}

extension Decision {
    /// The bytes of the values that the answer to the change shows.
    package func shownByteCount(of change: Change) -> Int {
        guard case .success(let commit) = self else { return 0 }
        func count(_ property: Property?, _ step: Change.Step) -> Int {
            guard let property, step.action.showsValue else { return 0 }
            return unsafe property.valueBytes.count
        }
        switch change {
        case .step(let step): return count(commit.first?.property, step)
        case .transaction(let transaction):
            guard let outcome = commit.outcome else { return 0 }
            let steps = outcome.succeeded ? transaction.steps : transaction.otherwise
            return zip(steps, outcome.results).reduce(0) { $0 + count($1.1.property, $1.0) }
        }
    }
}

extension Refusal {
    /// The refusals that follow from the change and the properties only; the index is the code.
    private static let kept: [Refusal] = [
        .missing, .preconditionFailed, .notAnInteger, .overflow, .valueTooLarge,
        .transactionTooLarge, .claimNameTooLong,
    ]
    private static let stepCode: UInt8 = 255

    /// Writes the refusal; false if it is not one to keep.
    fileprivate func encode(to writer: inout BinaryWriter) -> Bool {
        if case .step(let index, let branch, let refusal) = self {
            writer.bytes.append(Self.stepCode)
            writer.add(UInt64(index))
            writer.bytes.append(branch == .then ? 0 : 1)
            return refusal.encode(to: &writer)
        }
        guard let code = Self.kept.firstIndex(of: self) else { return false }
        writer.bytes.append(UInt8(code))
        return true
    }

    fileprivate init(
        decoding reader: inout BinaryReader,
        isOfStep: Bool = false
    )
        throws(InvalidChange)
    {
        let code = try reader.byte()
        if code == Self.stepCode, !isOfStep {
            let index = try reader.count()
            let branch: Transaction.Branch = try reader.flag() ? .otherwise : .then
            self = .step(index, branch, try Refusal(decoding: &reader, isOfStep: true))
        } else if Self.kept.indices.contains(Int(code)) {
            self = Self.kept[Int(code)]
        } else {
            throw InvalidChange()
        }
    }
}

extension Commit {
    fileprivate func encode(to writer: inout BinaryWriter, _ change: Change) {
        typealias Kind = KeptDecision.Kind
        let kind = outcome == nil ? Kind.step : .transaction
        writer.bytes.append(kind.rawValue)
        writer.add(revision)
        writer.add(time)
        switch change {
        case .step(let step):
            writer.bytes.append((first?.reason ?? .requested).rawValue)
            writer.add(first?.property, showsValue: step.action.showsValue)
        case .transaction(let transaction):
            guard let outcome else { preconditionFailure("A transaction has an outcome.") }
            writer.bytes.append(outcome.succeeded ? 1 : 0)
            writer.add(UInt64(outcome.results.count))
            let steps = outcome.succeeded ? transaction.steps : transaction.otherwise
            for (step, result) in zip(steps, outcome.results) {
                writer.add(result.property, showsValue: step.action.showsValue)
                writer.add(result.revision)
                writer.add(result.created)
                writer.add(UInt64(result.count))
                writer.bytes.append(result.hasMore ? 1 : 0)
                writer.add(result.expiry)
            }
        }
    }

    /// Whether an answer to the change can be made of the commit.
    fileprivate func fits(_ change: Change) -> Bool {
        func shows(_ property: Property?, _ step: Change.Step) -> Bool {
            guard let property, step.action.showsValue else { return true }
            return unsafe !property.valueBytes.isEmpty
        }
        switch change {
        case .step(let step):
            return outcome == nil && shows(first?.property, step)
        case .transaction(let transaction):
            guard let outcome else { return false }
            let steps = outcome.succeeded ? transaction.steps : transaction.otherwise
            return steps.count == outcome.results.count
                && zip(steps, outcome.results).allSatisfy { shows($1.property, $0) }
        }
    }

    /// A commit that only shows what was done: it is not made again.
    fileprivate convenience init(
        decoding reader: inout BinaryReader,
        isTransaction: Bool
    ) throws(InvalidChange) {
        let revision = try reader.revision()
        let time = try reader.timestamp()
        guard isTransaction else {
            guard let reason = Reason(rawValue: try reader.byte()) else { throw InvalidChange() }
            let property = try reader.property()
            let effect = Effect(from: nil, to: property, reason)
            self.init(revision: revision, time: time, first: effect, isRepeat: true)
            return
        }
        let succeeded = try reader.flag()
        let count = try reader.count()
        var results: [Transaction.Result] = []
        for _ in 0..<count { results.append(try reader.result()) }
        self.init(
            revision: revision,
            time: time,
            first: nil,
            outcome: Transaction.Outcome(succeeded: succeeded, results: results),
            isRepeat: true
        )
    }
}

extension BinaryWriter {
    fileprivate mutating func add(_ time: Timestamp) {
        add(time == .never ? 0 : UInt64(max(0, time.milliseconds)))
    }

    fileprivate mutating func add(_ property: Property?, showsValue: Bool) {
        bytes.append(property == nil ? 0 : 1)
        guard let property else { return }
        unsafe add(property.nameBytes)
        let value = unsafe property.valueBytes
        unsafe add(showsValue ? value : UnsafeRawBufferPointer(rebasing: value[..<0]))
        add(property.revision)
        add(property.created)
        add(property.expiry)
    }
}

extension BinaryReader {
    fileprivate mutating func revision() throws(InvalidChange) -> Revision {
        guard let revision = InputCheck.revision(try number()) else { throw InvalidChange() }
        return revision
    }

    fileprivate mutating func timestamp() throws(InvalidChange) -> Timestamp {
        let milliseconds = try number()
        guard milliseconds > 0 else { return .never }
        guard let time = InputCheck.expiry(milliseconds) else { throw InvalidChange() }
        return time
    }

    fileprivate mutating func property() throws(InvalidChange) -> Property? {
        guard try flag() else { return nil }
        guard let name = unsafe InputCheck.name(try bytes(), owner: owner) else {
            throw InvalidChange()
        }
        let value = unsafe try bytes()
        guard unsafe value.isEmpty || InputCheck.isValue(value) else { throw InvalidChange() }
        let (revision, created) = (try self.revision(), try self.revision())
        return unsafe Property(
            name: name,
            value: value,
            revision: revision,
            created: created,
            expiry: try timestamp()
        )
    }

    fileprivate mutating func result() throws(InvalidChange) -> Transaction.Result {
        let property = try property()
        let (revision, created) = (try self.revision(), try self.revision())
        let count = try count()
        let hasMore = try flag()
        return Transaction.Result(
            property,
            revision: revision,
            created: created,
            expiry: try timestamp(),
            count: count,
            hasMore: hasMore
        )
    }
}
