/// A well-known situation, as a workload.
package enum ComparisonPreset: String, Codable, Sendable, CaseIterable {
    /// Threads count something: writes only, a very short section.
    case counter
    /// Entries are looked up and sometimes replaced, a few of them far more often than others.
    case cache
    /// All threads read it all the time, and it rarely changes.
    case config
    /// Things are registered, found and removed: half reads, a section that walks a little.
    case registry
    /// A long section and no work outside: all threads wait for each other.
    case convoy

    /// The meaning of the preset, for the manual.
    package var meaning: String {
        switch self {
        case .counter: "writes only, with a very short section"
        case .cache: "1024 entries, some of them much more popular (Zipf), 95 % reads, 16 stripes"
        case .config: "one value that 999 of 1000 operations read"
        case .registry: "64 entries, half of the operations write"
        case .convoy: "writes only, with a long section and no work outside"
        }
    }

    /// Puts the preset's workload into the settings.
    ///
    /// Flags for single settings have precedence.
    package func apply(to settings: inout ComparisonSettings) {
        settings.preset = self
        func set(_ readRatio: Double, section: Int, outside: Int, keys: Int = 1) {
            settings.readRatios = [readRatio]
            settings.sectionNanoseconds = [section]
            settings.outside = [OutsideWork(nanoseconds: outside, scalesWithThreads: false)]
            settings.keys = [keys]
        }
        switch self {
        case .counter:
            set(0, section: 5, outside: 100)
        case .cache:
            set(0.95, section: 100, outside: 300, keys: 1024)
            settings.skews = [.zipf(exponent: 0.99)]
            settings.stripes = [16]
        case .config:
            set(0.999, section: 50, outside: 200)
        case .registry:
            set(0.5, section: 200, outside: 500, keys: 64)
        case .convoy:
            set(0, section: 2_000, outside: 0)
        }
    }
}
