package import LatchkeySettings

/// The limits of watches.
package struct WatchLimits: Sendable, Hashable {
    /// The maximum of watches and long polls at once.
    package var watcherCountMax = 10_000
    /// The maximum of bytes that wait for a client that reads slowly.
    ///
    /// Beyond it, the watcher reads from the history.
    package var bufferBytesMax = 64 * 1024
    /// The time between two keep-alive comments of a watch.
    package var keepAlive = Duration.seconds(15)
    /// The maximum wait of a read behind a trusted proxy, such as a long poll.
    ///
    /// Most proxies notice late, or not at all, that a client has gone whose answer has not begun:
    /// its place is taken until then.
    package var readBehindProxy = Duration.seconds(20)

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
                + "--max-connections limits them, too."
        )
    ]
}
