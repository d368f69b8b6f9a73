/// The content that is read from the tables of a store.
protocol TableContent: Sendable {
    /// Reads a table, which no write changes meanwhile.
    mutating func read(_ table: PropertyTable, at time: Timestamp)
}

/// A reading of some tables, all as of one revision.
struct TableReading<Content: TableContent>: Sendable {
    let revision: Revision
    /// Properties that have expired by then are left out.
    let time: Timestamp
    private(set) var content: Content
    private let moveCount: UInt64
    private let context: CommitContext

    /// The revision is read first: all commits up to it have read the clock before.
    init(_ content: Content, _ context: CommitContext) {
        moveCount = context.revisions.moveCount
        revision = context.revisions.last
        time = context.clock.now()
        (self.content, self.context) = (content, context)
    }

    mutating func read(_ table: PropertyTable) { content.read(table, at: time) }

    /// Whether nothing was committed or replaced since this began.
    var isOfOneRevision: Bool {
        context.revisions.last == revision && context.revisions.moveCount == moveCount
    }
}

// MARK: contents

/// All properties.
struct OrderContent: TableContent {
    private(set) var orders: [NameOrder] = []

    mutating func read(_ table: PropertyTable, at _: Timestamp) { orders.append(table.order) }
}

/// The properties that have some names.
struct NamedContent: TableContent {
    /// The names of each table.
    private var names: ArraySlice<[PropertyName]>
    private var found: [Property] = []

    init(_ names: [[PropertyName]]) { self.names = names[...] }

    mutating func read(_ table: PropertyTable, at time: Timestamp) {
        for name in names.removeFirst() {
            // Listing a property is not a use of it.
            if let property = table.find(name, in: .stored), !property.isExpired(at: time) {
                found.append(property)
            }
        }
    }

    /// In the order of their names.
    var properties: [Property] { found.sorted(by: NameSorting.precedes) }
}

/// How many properties have names with a prefix.
///
/// Each table knows how many properties it has, and which of them expire, in the order of their
/// times. So only expired properties that no commit has removed yet are looked at.
struct CountContent: TableContent {
    /// The maximum of properties looked at in all tables, which can be held meanwhile.
    static let visitsMax = 256

    private let prefix: OwnedBytes
    private(set) var count = 0
    private var visits = 0

    init(_ prefix: OwnedBytes) { self.prefix = prefix }

    /// Whether everything was counted.
    var isWhole: Bool { visits <= Self.visitsMax }

    mutating func read(_ table: PropertyTable, at time: Timestamp) {
        let mortals = table.mortals
        let expiredCount = mortals.count(from: mortals.start, to: mortals.position(at: time))
        guard unsafe !prefix.bytes.isEmpty else {
            count += table.count - expiredCount
            return
        }
        visits += expiredCount
        guard isWhole else { return }
        count += unsafe table.order.count(prefix: prefix.bytes)
        var place = mortals.start
        while let property = mortals[place], property.isExpired(at: time) {
            if unsafe property.nameBytes.begins(with: prefix.bytes) { count -= 1 }
            place = mortals.position(after: place)
        }
    }
}
