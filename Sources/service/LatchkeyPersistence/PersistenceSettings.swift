package import LatchkeySettings

/// When a write is acknowledged.
package enum Durability: Sendable, Hashable {
    /// When it is on the disk.
    case always
    /// At once: a killed process, or a machine that stops, loses the writes of the last interval.
    case interval(Duration)
}

/// The place where commits are kept, and the way.
package struct PersistenceSettings: Sendable, Hashable {
    /// The choices of `--durability`.
    package enum DurabilityChoice: String, CaseIterable, Sendable {
        case always
        case interval
    }

    /// The folder; empty if nothing is kept.
    package var path = ""
    package var durabilityChoice = DurabilityChoice.always
    package var syncInterval = Duration.seconds(1)
    /// Writes are refused while the log of the database is longer.
    package var logByteCountMax = 1 << 30
    /// A round of compaction begins with so many changes, or a quarter as many as there are
    /// properties.
    package var compactionCountMin = 100_000
    /// The longest value that a database keeps, with its name and its author beside it: SQLite
    /// takes no row above 10⁹ bytes (SQLITE_MAX_LENGTH).
    package var valueByteCountMax = 999_990_000

    package init() {}

    package var durability: Durability {
        switch durabilityChoice {
        case .always: .always
        case .interval: .interval(syncInterval)
        }
    }
}

extension PersistenceSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .path(
            "data",
            \.path,
            placeholder: "DIR",
            "The folder that keeps all properties, or none: in memory only. It is made if it is "
                + "missing."
        ),
        .choice(
            "durability",
            \.durabilityChoice,
            "Whether a write is acknowledged when it is on disk, or at once. At once, a crash "
                + "loses the writes of the last second and of two writes to the disk."
        ),
    ]
}
