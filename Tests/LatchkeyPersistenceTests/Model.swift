import LatchkeyStore
import LatchkeyTestSupport
import Testing

/// The expected content of a database: each property, by name.
struct Model: Equatable {
    struct Entry: Equatable {
        var value: String
        var revision: Revision
        var created: Revision
        var expiry: Int64
    }

    var entries: [String: Entry] = [:]
    var revision: Revision

    init(after revision: Revision) {
        self.revision = revision
    }

    init(_ properties: [Property], _ commits: [StoredCommit], after revision: Revision) {
        self.revision = revision
        for property in properties {
            unsafe entries[text(property.nameBytes)] = Entry(property)
        }
        for commit in commits { apply(commit) }
    }

    mutating func apply(_ commit: StoredCommit) {
        revision = commit.revision
        for effect in commit.effects {
            unsafe entries[text(effect.name.bytes)] = effect.property.map { Entry($0) }
        }
    }
}

extension Model.Entry {
    init(_ property: Property) {
        unsafe self.init(
            value: text(property.valueBytes),
            revision: property.revision,
            created: property.created,
            expiry: property.expiry.milliseconds
        )
    }
}

func text(_ bytes: UnsafeRawBufferPointer) -> String {
    unsafe String(decoding: bytes, as: UTF8.self)
}

/// Makes random commits: puts, deletions, expiries and evictions, and transactions of several.
struct CommitSource {
    private(set) var model: Model
    private var random: SeededGenerator
    private let nameCount: Int
    /// Whether times to live start again, which the first format does not know.
    private let touches: Bool
    private var properties: [String: Property] = [:]

    init(seed: UInt64, after revision: Revision, nameCount: Int = 200, touches: Bool = true) {
        model = Model(after: revision)
        random = SeededGenerator(seed)
        self.nameCount = nameCount
        self.touches = touches
    }

    /// Goes on from a state at a later revision.
    mutating func restart(_ model: Model, after revision: Revision) throws {
        self.model = model
        self.model.revision = revision
        properties = try model.entries.reduce(into: [:]) { properties, entry in
            let (name, value) = (entry.key, entry.value)
            properties[name] = try makeProperty(
                name,
                value.value,
                value.revision,
                value.created,
                Timestamp(milliseconds: value.expiry)
            )
        }
    }

    mutating func next(effectCountMax: Int = 4) throws -> Commit {
        let revision = model.revision + 1
        model.revision = revision
        var names: Set<String> = []
        for _ in 0..<Int.random(in: 1...effectCountMax, using: &random) {
            names.insert("name/\(Int.random(in: 0..<nameCount, using: &random))")
        }
        let effects = try names.sorted().map { try effect($0, revision) }
        return Commit(
            revision: revision,
            time: Timestamp(milliseconds: 1_000_000 + Int64(revision % 7)),
            first: effects.first,
            others: Array(effects.dropFirst())
        )
    }

    private mutating func effect(_ name: String, _ revision: Revision) throws -> Commit.Effect {
        let former = properties[name]
        let reason: Commit.Reason = Bool.random(using: &random) ? .requested : .evicted
        if former != nil, Int.random(in: 0..<4, using: &random) == 0 {
            properties[name] = nil
            model.entries[name] = nil
            return try #require(Commit.Effect(from: former, to: nil, reason))
        }
        if let former, former.isMortal, touches {
            return try touch(name, former, revision)
        }
        let count = Int.random(in: 0..<40, using: &random) == 0 ? 6000 : 40
        let value =
            "\"\(String(repeating: "x", count: Int.random(in: 0..<count, using: &random)))\""
        let expiry: Timestamp =
            Int.random(in: 0..<3, using: &random) == 0
            ? Timestamp(milliseconds: 4_000_000_000_000 + Int64(revision)) : .never
        let property = try makeProperty(name, value, revision, former?.created, expiry)
        properties[name] = property
        model.entries[name] = Model.Entry(property)
        return try #require(Commit.Effect(from: former, to: property, .requested))
    }

    /// Starts the time to live again: the property keeps its revision.
    private mutating func touch(
        _ name: String,
        _ former: Property,
        _ revision: Revision
    ) throws -> Commit.Effect {
        let property = try makeProperty(
            name,
            unsafe text(former.valueBytes),
            former.revision,
            former.created,
            Timestamp(milliseconds: 4_000_000_000_000 + Int64(revision))
        )
        properties[name] = property
        model.entries[name] = Model.Entry(property)
        return try #require(Commit.Effect(from: former, to: property, .touched))
    }

    /// A commit that removes one property, which is there.
    mutating func delete(_ name: String) throws -> Commit {
        model.revision += 1
        model.entries[name] = nil
        let former = properties.removeValue(forKey: name)
        return Commit(
            revision: model.revision,
            time: Timestamp(milliseconds: 1000),
            first: try #require(Commit.Effect(from: former, to: nil, .requested))
        )
    }

    /// A commit that puts one property.
    mutating func put(_ name: String, _ value: String) throws -> Commit {
        let revision = model.revision + 1
        let former = properties[name]
        let property = try makeProperty(name, value, revision, former?.created, .never)
        model.revision = revision
        model.entries[name] = Model.Entry(property)
        properties[name] = property
        return Commit(
            revision: revision,
            time: Timestamp(milliseconds: 1000),
            first: Commit.Effect(from: former, to: property, .requested)
        )
    }
}

func makeProperty(
    _ name: String,
    _ value: String,
    _ revision: Revision,
    _ created: Revision?,
    _ expiry: Timestamp
) throws -> Property {
    try unsafe Array(name.utf8).withUnsafeBytes { name in
        let name = try unsafe PropertyName(borrowing: name)
        return unsafe Array(value.utf8).withUnsafeBytes { value in
            unsafe Property(
                name: name,
                value: value,
                revision: revision,
                created: created ?? revision,
                expiry: expiry
            )
        }
    }
}
