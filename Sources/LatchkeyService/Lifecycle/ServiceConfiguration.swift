package import LatchkeyContention
package import LatchkeyStore
package import LatchkeySync

/// Everything that is chosen at start.
///
/// The defaults are those of `latchkey serve`.
package struct ServiceConfiguration: Sendable {
    package var strategy = StrategyKind.lock
    package var stripeCount = 128
    package var metering = MeteringLevel.sampled
    /// The strategies that are given a share of the operations beside the serving one.
    ///
    /// They need metering.
    package var shadows: [StrategyKind] = []
    /// Of the operations one in so many is applied to the shadows, in the mean.
    package var shadowInterval = 16
    package var storeLimits = StoreLimits()
    package var backlogMax = 4096

    package var host = "127.0.0.1"
    package var port: UInt16 = 8080
    /// Names of hosts that are served besides local ones.
    ///
    /// Nil serves all; `[]` serves local names on a loopback address, and all on others.
    package var allowedHosts: [String]? = []
    package var httpThreadCount = 1
    package var usesThreadPerConnection = false

    package var bodyByteCountMax = 1 << 20
    package var headerByteCountMax = 8 << 10
    package var targetByteCountMax = 4 << 10
    package var connectionCountMax = 1024
    /// 0 for no bound.
    package var connectionCountPerAddressMax = 0
    package var idleTimeoutSeconds = 60
    package var requestTimeoutSeconds = 30
    package var answerTimeoutSeconds = 60
    package var drainSeconds = 10

    package var sendsServerTiming = false
    package var logFormat = Log.Format.text
    package var logLevel = Log.Level.info
    package var version = "0"

    package init() {}
}
