internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStore

extension ServiceRequest {
    /// Nil unless repeats of the request get its answer.
    var keeper: AnswerKeeper? { witness.flatMap { $0 as? AnswerKeeper } }

    /// What is to be stored with a commit: who has made it; and the key of the request, with its
    /// answer, if the request has a key.
    func note(_ answer: () -> KeptAnswer?) -> CommitNote? {
        CommitNote(author: caller.author, bytes: keeper?.note(client, answer()))
    }

    /// What is stored of an answer that is not made yet.
    func kept(
        _ status: HTTPStatus,
        _ body: ResponseBody,
        fields: (inout ResponseFields) -> Void
    ) -> KeptAnswer? {
        let isShort = body.count <= RepetitionNote.bodyByteCountMax
        return KeptAnswer(
            status,
            fields: exchange.preview(fields),
            body: isShort ? body.copied : nil
        )
    }

    /// Ends a request that its client has given up, and of which nothing was done.
    ///
    /// A repeat of it runs.
    func giveUp() {
        answerInVain()
        keeper?.free()
    }

    /// Refuses a request whose key is free afterwards: a repeat is decided anew.
    func failFreeing(_ keeper: AnswerKeeper, _ failure: RequestFailure) {
        var request = self
        request.witness = nil
        request.fail(failure)
        keeper.free()
    }
}
