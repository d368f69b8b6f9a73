public import CLatchkeyHTTP

/// One request, and the duty to answer it once.
///
/// An exchange is given to the handler on a thread of the server, and answered then, or later from
/// any thread, by ``respond(_:body:closes:fields:)``. The request can be read on any thread until
/// it is answered, and not afterwards. A handler must answer every exchange.
///
/// SAFETY: `@safe` because the C side keeps all that the request points to until it is answered.
/// `@unchecked Sendable` because no thread writes to it meanwhile.
@safe
@usableFromInline
package struct Exchange: @unchecked Sendable {
    @usableFromInline let request: UnsafeMutablePointer<latchkey_http_request>

    @inlinable
    init(_ request: UnsafeMutablePointer<latchkey_http_request>) {
        unsafe self.request = request
    }

    /// The method, if it is one that a route can have.
    @inlinable package var method: HTTPMethod { HTTPMethod(methodBytes) }

    /// The method as it was sent.
    @inlinable package var methodBytes: Bytes { unsafe Bytes(request.pointee.method) }

    /// The target up to its first `?`, as it was sent: nothing is decoded.
    @inlinable package var path: Bytes { unsafe Bytes(request.pointee.path) }

    /// The target after its first `?`, as it was sent; empty if there is none.
    @inlinable package var query: Bytes { unsafe Bytes(request.pointee.query) }

    /// The host and port that the request is for: of an absolute target, or else of the `Host`
    /// field (RFC 9112, 3.2.2); nil if there is neither.
    @inlinable package var authority: Bytes? {
        let bytes = unsafe request.pointee.authority
        return unsafe bytes.bytes == nil ? nil : Bytes(bytes)
    }

    @inlinable package var body: Bytes { unsafe Bytes(request.pointee.body) }

    /// When the head of the request had arrived: nanoseconds of the monotonic clock.
    @inlinable package var startedNanoseconds: UInt64 {
        unsafe request.pointee.started_nanoseconds
    }

    /// The identifier of the request: 20 digits and letters, which no other request has.
    ///
    /// The answer has it in `Latchkey-Request-Id`.
    package var identifier: String {
        let text = unsafe UnsafeBufferPointer(
            start: latchkey_http_request_identifier(request),
            count: Int(LATCHKEY_HTTP_IDENTIFIER_BYTES)
        )
        return unsafe String(decoding: UnsafeRawBufferPointer(text), as: UTF8.self)
    }

    /// Whether the request is sampled, one in `mean` on average; `mean` is a power of two.
    ///
    /// The identifier decides, as a random number: each request is equally likely, in whatever
    /// order clients send them.
    @inline(__always)
    package func isSampled(oneIn mean: Int) -> Bool {
        let text = unsafe UnsafeRawPointer(latchkey_http_request_identifier(request))
        let offset = Int(LATCHKEY_HTTP_IDENTIFIER_BYTES) - MemoryLayout<UInt64>.size
        // The last step of MurmurHash3, by which each bit of a number decides about each one.
        var number = unsafe text.unsafelyUnwrapped.loadUnaligned(
            fromByteOffset: offset,
            as: UInt64.self
        )
        number = (number ^ number >> 33) &* 0xff51_afd7_ed55_8ccd
        number = (number ^ number >> 33) &* 0xc4ce_b9fe_1a85_ec53
        return (number ^ number >> 33) & UInt64(mean - 1) == 0
    }

    /// Why the request must not be served, or nil.
    @inlinable package var rejection: Rejection? {
        let code = unsafe request.pointee.rejection
        return code == LATCHKEY_HTTP_REJECTION_NONE ? nil : Rejection(code)
    }

    /// Whether ``authority`` is that of an earlier request on the same connection, for which
    /// ``keepAuthority()`` was called.
    var isAuthorityKept: Bool { unsafe request.pointee.authority_is_kept }

    /// Remembers the authority for the next requests on this connection.
    ///
    /// Only on the server's thread, before the handler has returned.
    func keepAuthority() {
        unsafe latchkey_http_request_keep_authority(request)
    }

    /// Whether there is a header field of this name.
    @inlinable
    @inline(__always)
    package func hasHeader(named name: FieldName) -> Bool {
        name.bit == 0
            ? find(name, from: 0) < (unsafe request.pointee.field_count)
            : unsafe request.pointee.known & name.bit != 0
    }

    /// Whether there is more than one header field of this name.
    @inlinable
    @inline(__always)
    package func repeatsHeader(named name: FieldName) -> Bool {
        name.bit == 0
            ? headerCount(named: name) > 1 : unsafe request.pointee.known_again & name.bit != 0
    }

    /// The value of the first header field of this name, or nil.
    ///
    /// - Parameter name: the field's name, whose case does not matter.
    /// - Returns: the value, without white space around it.
    @inlinable
    @inline(__always)
    package func header(named name: FieldName) -> Bytes? {
        guard name.bit == 0 || hasHeader(named: name) else { return nil }
        let index = find(name, from: 0)
        guard index < (unsafe request.pointee.field_count) else { return nil }
        return unsafe Bytes(request.pointee.fields[index].value)
    }

    /// All values of the header fields of this name, joined by `, ` (RFC 9110, 5.3), or nil.
    ///
    /// - Parameter name: the field's name, whose case does not matter.
    /// - Returns: the joined values.
    @inlinable
    @inline(__always)
    package func headers(named name: FieldName) -> [UInt8]? {
        guard name.bit == 0 || hasHeader(named: name) else { return nil }
        return joinedHeaders(named: name)
    }

    @usableFromInline
    func joinedHeaders(named name: FieldName) -> [UInt8]? {
        let end = unsafe request.pointee.field_count
        var index = find(name, from: 0)
        guard index < end else { return nil }
        var joined = unsafe Array(Bytes(request.pointee.fields[index].value))
        index = find(name, from: index + 1)
        while index < end {
            joined.append(contentsOf: [0x2C, 0x20])
            unsafe joined.append(contentsOf: Bytes(request.pointee.fields[index].value))
            index = find(name, from: index + 1)
        }
        return joined
    }

    /// How many header fields of this name there are.
    @usableFromInline
    package func headerCount(named name: FieldName) -> Int {
        var count = 0
        var index = find(name, from: 0)
        while index < (unsafe request.pointee.field_count) {
            count += 1
            index = find(name, from: index + 1)
        }
        return count
    }

    @usableFromInline
    func find(_ name: FieldName, from index: Int) -> Int {
        unsafe latchkey_http_find(
            request,
            UnsafeRawPointer(name.text.utf8Start).assumingMemoryBound(to: CChar.self),
            name.text.utf8CodeUnitCount,
            index
        )
    }
}
