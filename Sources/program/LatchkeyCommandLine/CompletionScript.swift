/// The shells whose command line is completed.
///
/// Their scripts ask the program: `latchkey completion --words -- WORD...`.
package enum CompletionScript: String, CaseIterable {
    case bash
    case zsh
    case fish

    package var text: String {
        switch self {
        case .bash: Self.bashText
        case .zsh: Self.zshText
        case .fish: Self.fishText
        }
    }

    /// For bash 4 and later, also without the package bash-completion.
    private static let bashText = #"""
        # Completes the command line of latchkey; made by 'latchkey completion bash'.
        _latchkey() {
            local word=${COMP_WORDS[COMP_CWORD]} prefix='' lines
            mapfile -t lines < <("${COMP_WORDS[0]}" completion --words -- \
                "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
            lines=("${lines[@]%%$'\t'*}") COMPREPLY=()
            [[ $word != = ]] || word=''
            [[ ${lines[0]} != files && ${lines[0]} != folders || $word != --*=* ]] ||
                prefix=${word%%=*}= word=${word#*=}
            case ${lines[0]} in
            files) compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -P "$prefix" -f -- "$word") ;;
            folders) compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -P "$prefix" -d -- "$word") ;;
            programs) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
            *)
                [[ ${lines[0]} != list ]] || compopt -o nospace 2>/dev/null
                mapfile -t COMPREPLY < <(compgen -W "${lines[*]:1}" -- "$word") ;;
            esac
        }

        complete -F _latchkey latchkey

        """#

    /// For a file `_latchkey` in a folder of `fpath`.
    private static let zshText = #"""
        #compdef latchkey
        # Completes the command line of latchkey; made by 'latchkey completion zsh'.
        _latchkey() {
            local -a lines
            lines=("${(@f)$("${words[1]}" completion --words -- \
                "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
            local kind=${lines[1]}
            shift lines
            case $kind in
            files) compset -P '--*='; _files ;;
            folders) compset -P '--*='; _files -/ ;;
            programs) _command_names ;;
            list) compadd -S '' -- $lines ;;
            *) lines=("${(@)lines//:/\\:}") lines=("${(@)lines/$'\t'/:}")
                _describe argument lines ;;
            esac
        }

        _latchkey "$@"

        """#

    private static let fishText = #"""
        # Completes the command line of latchkey; made by 'latchkey completion fish'.
        function __latchkey_words
            set -l words (commandline -opc) (commandline -ct)
            set -l lines ($words[1] completion --words -- $words[2..-1] 2>/dev/null)
            set -l value (string replace -r -- '^--[^=]*=' '' $words[-1])
            set -l prefix (string match -r -- '^--[^=]*=' $words[-1])
            switch "$lines[1]"
                case files
                    __fish_complete_path $value | string replace -r '^' -- "$prefix"
                case folders
                    __fish_complete_directories $value | string replace -r '^' -- "$prefix"
                case programs
                    __fish_complete_command
                case '*'
                    string join \n -- $lines[2..-1]
            end
        end

        complete -c latchkey -f -a '(__latchkey_words)'

        """#
}
