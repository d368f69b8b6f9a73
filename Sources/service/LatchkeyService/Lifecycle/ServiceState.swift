internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyWatches

/// The state of a running service, which its operator has logged with SIGUSR1.
///
/// Some fifteen lines, each written as soon as it is made: if one cannot be made, the line before
/// shows where. No part has a name or a value of a property. No lock that requests wait for is held
/// longer than a count takes.
struct ServiceState: Sendable {
    /// Longer values of settings are cut off.
    private static let valueLengthMax = 200
    /// The number of limits that are written: the nearest ones.
    private static let boundCount = 10

    private let configuration: ServiceConfiguration
    private let journal: Journal
    private let watches: WatchHub
    private let store: PropertyStore
    private let operations: Operations
    private let strategy: ServingStrategy
    private let persistence: Persistence?
    private let server: HTTPServer
    private let bounds: ServiceBounds
    private let audit: AuditLog?

    init(
        _ configuration: ServiceConfiguration,
        _ made: StoreMaker.Made,
        _ watches: WatchHub,
        _ operations: Operations,
        _ strategy: ServingStrategy,
        _ server: HTTPServer,
        _ audit: AuditLog?,
        _ frame: ServiceFrame
    ) {
        self.configuration = configuration
        (store, journal, persistence) = (made.store, made.journal, made.persistence)
        self.watches = watches
        self.operations = operations
        self.strategy = strategy
        self.server = server
        self.audit = audit
        bounds = frame.bounds
    }

    /// Writes a line for each part, at any lowest level of the log.
    func write(to log: Log) {
        for part in parts {
            log.writeAsked("state", [("part", part.name)] + part.fields())
        }
        log.writeAsked("state", [("part", "end")])
    }

    private typealias Part = (name: String, fields: () -> [(String, String)])

    private var parts: [Part] {
        [
            ("program", program), ("settings", settings), ("memory", memory),
            ("connections", connections), ("requests", requests), ("watches", watching),
            ("store", properties), ("history", history), ("queues", queues), ("operations", states),
            ("durability", durability), ("bounds", nearBounds),
        ]
    }

    private func program() -> [(String, String)] {
        let program = configuration.program
        return [
            ("version", program.version), ("build", program.build ?? "none"),
            ("swift", program.swift), ("strategy", strategy.kind.rawValue),
        ]
    }

    private func settings() -> [(String, String)] {
        (configuration.changedSettings + configuration.changedLimits).map { setting in
            let value = setting.value
            let isLong = value.utf8.count > Self.valueLengthMax
            return (setting.name, isLong ? "\(value.prefix(Self.valueLengthMax))…" : value)
        }
    }

    private func memory() -> [(String, String)] {
        let now = ProcessReading()
        let figures: [(String, Double?)] = [
            ("residentBytes", now.residentBytes), ("virtualBytes", now.virtualBytes),
            ("threads", now.threads), ("openFiles", now.openFiles), ("filesMax", now.filesMax),
            ("cpuSeconds", now.cpuSeconds), ("startedSeconds", now.startSeconds),
        ]
        return figures.compactMap { name, value in
            value.map { (name, "\(Int($0.rounded(.down)))") }
        }
    }

    private func connections() -> [(String, String)] {
        let now = server.statistics
        return [
            ("open", "\(now.connections)"), ("waiting", "\(now.waiting)"),
            ("streaming", "\(now.streaming)"), ("handshaking", "\(now.handshaking)"),
            ("accepted", "\(now.acceptedTotal)"), ("refused", "\(now.refusedTotal)"),
            ("timedOut", "\(now.timedOutTotal)"),
        ]
    }

    private func requests() -> [(String, String)] {
        let now = server.statistics
        return [
            ("receiving", "\(now.receiving)"), ("handling", "\(now.handling)"),
            ("suspended", "\(now.suspended)"), ("answering", "\(now.answering)"),
        ]
    }

    private func watching() -> [(String, String)] {
        [("watchers", "\(watches.watcherCount)")]
    }

    private func properties() -> [(String, String)] {
        let now = store.usage
        return [
            ("properties", "\(now.propertyCount)"), ("bytes", "\(now.byteCount)"),
            ("revision", "\(now.revision)"),
        ]
    }

    private func history() -> [(String, String)] {
        let now = journal.usage
        return [
            ("commits", "\(now.commitCount)"), ("bytes", "\(now.byteCount)"),
            ("oldest", "\(journal.oldestKept)"),
        ]
    }

    private func queues() -> [(String, String)] {
        var fields: [(String, String)] = []
        if let count = store.fullestBacklog { fields.append(("fullestBacklog", "\(count)")) }
        if let persistence { fields.append(("commits", "\(persistence.status.pendingCount)")) }
        let log = LineWriter.standardError
        fields.append(("logBytes", "\(log.waitingByteCount)"))
        fields.append(("logDropped", "\(log.droppedTotal)"))
        if let audit {
            fields.append(("auditBytes", "\(audit.waitingByteCount)"))
            fields.append(("auditDropped", "\(audit.droppedCount)"))
        }
        return fields
    }

    private func states() -> [(String, String)] {
        let now = operations.counts.byState
        return OperationState.allCases.map { ($0.rawValue, "\(now[$0] ?? 0)") }
    }

    private func durability() -> [(String, String)] {
        guard let now = persistence?.status else { return [("data", "memory")] }
        var fields = [
            ("data", configuration.persistence.durabilityChoice.rawValue),
            ("durableRevision", "\(now.durableRevision)"), ("pending", "\(now.pendingCount)"),
            ("lastSyncSeconds", "\(now.lastSyncAge.components.seconds)"),
            ("logBytes", "\(now.logByteCount)"), ("databaseBytes", "\(now.databaseByteCount)"),
            ("changes", "\(now.changeCount)"),
        ]
        if case .failed(let reason, _) = now.health { fields.append(("failed", reason)) }
        return fields
    }

    /// The nearest limits, and only those that are in use.
    private func nearBounds() -> [(String, String)] {
        var seen: Set<String> = []
        // Only the nearest quota.
        return bounds.readings.filter { $0.used > 0 }.sorted { $0.share > $1.share }
            .filter { seen.insert($0.name).inserted }.prefix(Self.boundCount)
            .map { ($0.name, "\($0.used)/\($0.limit)") }
    }
}
