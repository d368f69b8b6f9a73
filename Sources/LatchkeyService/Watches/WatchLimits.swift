package import LatchkeySettings

/// The bounds of watches.
package struct WatchLimits: Sendable, Hashable {
    /// How many watches and long polls there can be at once.
    package var watcherCountMax = 10_000
    /// How many bytes wait for a client that reads slowly.
    ///
    /// Beyond it, the watcher reads from the history.
    package var bufferBytesMax = 64 * 1024
    /// The time between two keep-alive comments of a watch.
    package var keepAlive = Duration.seconds(15)

    package init() {}
}

extension WatchLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .integer(
            "max-watchers",
            \.watcherCountMax,
            1...65_536,
            "The maximum number of watches and long polls at once. Further ones get status 503. "
                + "--max-connections bounds them, too."
        )
    ]
}
