import CLatchkeyHTTP

extension HTTPServerConfiguration {
    /// How many file descriptors the server has open at most.
    ///
    /// With too few of them connections are neither served nor refused, and event loops spin.
    package var descriptorsMax: Int {
        var options = unsafe latchkey_http_options()
        unsafe options.connections_max = UInt32(clamping: connectionsMax)
        unsafe options.threads = UInt32(clamping: eventLoopCount)
        return Int(unsafe latchkey_http_descriptors_max(&options))
    }
}
