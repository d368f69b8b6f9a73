/// A situation people know, as a workload.
package enum ComparisonPreset: String, Codable, Sendable, CaseIterable {
    /// Threads count something: writes only, next to nothing inside.
    case counter
    /// Entries are looked up and now and then replaced, a few of them far more often than others.
    case cache
    /// Everybody reads it all the time and somebody rarely changes it.
    case config
    /// Things are registered, found and removed: half reads, a section that walks a little.
    case registry
    /// A long section and nothing outside: everybody waits for everybody.
    case convoy

    /// What the preset stands for, in the words of the manual.
    package var meaning: String {
        switch self {
        case .counter: "threads count something: writes only, next to nothing inside"
        case .cache: "1024 entries of Zipf popularity, 95 % reads, 16 stripes"
        case .config: "one value that is read 999 times out of 1000"
        case .registry: "64 entries, half of the operations change one"
        case .convoy: "a long section and nothing outside: all wait for all"
        }
    }

    /// Puts the preset's workload into the settings.
    ///
    /// Flags of their own win afterwards.
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
