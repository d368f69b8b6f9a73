import CLatchkeyHTTP
internal import LatchkeySettings

extension Exchange {
    /// Gives this request a deadline of its own for its answer.
    ///
    /// For a handler that waits on purpose. It holds instead of
    /// ``HTTPServerConfiguration/answerTimeout``.
    ///
    /// - Parameter limit: the time from the call of the handler; nil is none.
    package func awaitAnswer(for limit: Duration?) {
        let milliseconds = limit.map { UInt32(clamping: max(1, $0.wholeMilliseconds)) } ?? 0
        unsafe latchkey_http_request_wait(request, milliseconds)
    }

    /// Whether the request has a body and its route was found at its head.
    package var hasPassedHead: Bool { note != 0 }

    /// Whether its body is there, so that it can be answered later; else it is at its head.
    package var isWhole: Bool { unsafe latchkey_http_request_is_whole(request) }

    /// Closes the connection after the answer.
    ///
    /// Only on the server's thread, before the handler returns.
    package func closeBehindAnswer() { unsafe latchkey_http_request_close(request) }

    /// A number that is kept from the head to the handler; 0 until then.
    var note: UInt64 {
        get { unsafe request.pointee.note }
        nonmutating set { unsafe latchkey_http_request_note(request, newValue) }
    }
}
