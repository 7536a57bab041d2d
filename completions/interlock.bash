# SPDX-License-Identifier: MIT
# bash completion for interlock: put it into ~/.local/share/bash-completion/completions/interlock

_interlock_names() {
  interlock ls --quiet "${store[@]}" 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_interlock_handles() {
  interlock show --quiet "${store[@]}" -- "$1" 2>/dev/null | awk '$1 == "holds" || $1 == "waits" { print $2 }'
}

_interlock() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local verbs='run try ls show break doctor schema demo version help'
  local verb='' name='' word i
  local store=()
  COMPREPLY=()

  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      --)
        # Behind the dashes is somebody else's command line.
        if [[ $verb == run || $verb == try ]]; then
          if declare -F _command_offset >/dev/null; then
            _command_offset $((i + 1))
          else
            mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
          fi
          return
        fi
        ;;
      --store) store=(--store "${COMP_WORDS[++i]}") ;;
      --wait | --lease | --permits | --max-hold | --lock-delay | --purpose | --status-fd | --handle) ((i++)) ;;
      -*) ;;
      *)
        if [[ -z $verb ]]; then
          verb=$word
        elif [[ -z $name ]]; then
          name=$word
        fi
        ;;
    esac
  done

  case $previous in
    --store)
      mapfile -t COMPREPLY < <(compgen -W 'sqlite: memory:' -- "$current")
      compopt -o nospace
      return
      ;;
    --handle)
      mapfile -t COMPREPLY < <(compgen -W "$(_interlock_handles "$name")" -- "$current")
      return
      ;;
    --wait | --lease | --max-hold | --lock-delay)
      mapfile -t COMPREPLY < <(compgen -W '500ms 5s 30s 2m 1h' -- "$current")
      return
      ;;
    --permits | --purpose | --status-fd) return ;;
  esac

  local options='--help --quiet --store'
  case $verb in
    run) options+=' --shared --permits --wait --lease --max-hold --lock-delay --purpose --status-fd --' ;;
    try) options+=' --shared --permits --lease --max-hold --lock-delay --purpose --status-fd --' ;;
    ls | show | doctor) options+=' --json' ;;
    break) options+=' --json --handle --force' ;;
    version) options='--help --json' ;;
    schema | demo | help) options='--help' ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ -z $verb || $verb == help ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current")
  elif [[ -z $name && $verb != version && $verb != demo && $verb != doctor && $verb != schema ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_interlock_names)" -- "$current")
  fi
}

complete -F _interlock interlock
