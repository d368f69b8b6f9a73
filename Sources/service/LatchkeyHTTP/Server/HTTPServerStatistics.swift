import CLatchkeyHTTP

/// The numbers of a server's connections by state.
package struct HTTPServerStatistics: Sendable {
    package let connections: Int
    /// Connections without a request.
    package let waiting: Int
    /// Requests whose body is not complete.
    package let receiving: Int
    /// Requests that their handler has not answered.
    package let handling: Int
    /// Answers that are not sent completely.
    package let answering: Int
    /// Answers that are streams.
    package let streaming: Int
    /// Requests among ``handling`` whose handler has returned.
    package let suspended: Int
    package let acceptedTotal: UInt64
    /// Connections over a limit.
    package let refusedTotal: UInt64
    /// Those among them over the limit of a client, or of an address.
    package let refusedShareTotal: UInt64
    /// Connections ended by a deadline.
    package let timedOutTotal: UInt64
    /// Requests that the library itself refused, because it could not parse them.
    package let libraryRefusedTotal: UInt64
    /// Lines that were left out of the log, because there were too many in a second.
    package let logSuppressedTotal: UInt64
    /// Connections whose TLS handshake is not complete.
    package let handshaking: Int
    /// Handshakes that were completed.
    package let handshakeTotal: UInt64
    /// Those among them that were resumed.
    package let resumedTotal: UInt64
    /// Handshakes that failed or took too long.
    package let handshakeFailedTotal: UInt64

    init(_ measured: latchkey_http_statistics) {
        connections = Int(measured.connections)
        waiting = Int(measured.waiting)
        receiving = Int(measured.receiving)
        handling = Int(measured.handling)
        answering = Int(measured.answering)
        streaming = Int(measured.streaming)
        suspended = Int(measured.suspended)
        acceptedTotal = measured.accepted_total
        refusedTotal = measured.refused_total
        refusedShareTotal = measured.refused_share_total
        timedOutTotal = measured.timed_out_total
        libraryRefusedTotal = measured.library_refused_total
        logSuppressedTotal = measured.log_suppressed_total
        handshaking = Int(measured.handshaking)
        handshakeTotal = measured.handshake_total
        resumedTotal = measured.resumed_total
        handshakeFailedTotal = measured.handshake_failed_total
    }
}
