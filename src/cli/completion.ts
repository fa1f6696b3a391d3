import { Argument, Command, type Option } from 'commander';
import { addExamples, optionsOf } from './flags/help.ts';
import type { Terminal } from './output/terminal.ts';
import { childNamed } from './root-help.ts';

/** A word that a shell offers, with its description. */
type Word = readonly [word: string, description?: string];

/**
 * The scripts only pass the command line to `tsigil complete`, so they fit every version. It prints
 * `words` and a word with its description on each line, or `files`.
 */
const SCRIPTS = {
  // Bash replaces only the part of a word after `=` or `:`.
  bash: `_tsigil() {
  local line=\${COMP_LINE:0:COMP_POINT} IFS=$'\\n' kind word _
  local cut=\${line##*[[:space:]]}
  [[ $cut == *[=:]* ]] && cut=\${cut%"\${cut##*[=:]}"} || cut=
  COMPREPLY=()
  {
    read -r kind
    if [[ $kind == files ]]; then
      compopt -o filenames 2>/dev/null
      COMPREPLY=($(compgen -f -- "\${COMP_WORDS[COMP_CWORD]#=}"))
    fi
    while IFS=$'\\t' read -r word _; do
      printf -v word %q "$word"
      COMPREPLY+=("\${word#"$cut"}")
    done
  } < <(tsigil complete -- "$line" 2>/dev/null </dev/null)
}
complete -F _tsigil tsigil
`,
  // _describe reads a word up to its first unescaped colon.
  zsh: `#compdef tsigil
_tsigil() {
  local line word
  local -a lines items
  lines=("\${(@f)$(tsigil complete -- "\${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null </dev/null)}")
  if [[ $lines[1] == files ]]; then
    _files
    return
  fi
  for line in "\${(@)lines[2,-1]}"; do
    word=\${line%%$'\\t'*}
    items+=("\${\${word//\\\\/\\\\\\\\}//:/\\\\:}\${\${line#$word}/$'\\t'/:}")
  done
  _describe tsigil items
}
if [ "\${funcstack[1]}" = _tsigil ]; then _tsigil "$@"; else compdef _tsigil tsigil; fi
`,
  fish: `function __tsigil_complete
    set -l lines (tsigil complete -- (commandline -cp) 2>/dev/null </dev/null)
    if test "$lines[1]" = files
        __fish_complete_path (commandline -ct)
        return
    end
    set -e lines[1]
    for line in $lines
        printf '%s\\n' $line
    end
end
complete -c tsigil -f -a '(__tsigil_complete)'
`,
} as const;

/** Adds the command that prints a completion script, and the hidden command that the script runs. */
export function addCompletion(program: Command, terminal: Terminal): void {
  const completion = program
    .command('completion')
    .description('print a shell script that completes commands, flags and their values')
    .summary('print a script that completes commands in a shell')
    .addArgument(
      new Argument('<shell>', 'shell that runs the script').choices(Object.keys(SCRIPTS)),
    )
    .action((shell: keyof typeof SCRIPTS) => void terminal.out.write(SCRIPTS[shell]));
  addExamples(completion, [
    'tsigil completion bash > ~/.local/share/bash-completion/completions/tsigil',
    'tsigil completion zsh > /usr/local/share/zsh/site-functions/_tsigil  # write to any folder in $fpath',
    'tsigil completion fish > ~/.config/fish/completions/tsigil.fish',
  ]);
  program
    .command('complete', { hidden: true })
    .argument('<line>')
    .action((line: string) => {
      const words = completionsOf(program, wordsOf(line));
      const lines =
        words === 'files' ? [words] : ['words', ...words.map((word) => word.join('\t'))];
      terminal.out.write(lines.map((each) => `${each}\n`).join(''));
    });
}

/**
 * Returns the words of a command line up to the cursor, without the quotes of the shell. The last
 * word is the word to complete, which may be empty.
 */
function wordsOf(line: string): string[] {
  const words = [''];
  const part = /\\(.)|'([^']*)'?|"((?:\\.|[^"])*)"?|(\s+)|([^\s'"\\]+)/gsu;
  for (const [, escaped, single, double, space, plain] of line.matchAll(part)) {
    if (space !== undefined) words.push('');
    else
      words.push(
        `${words.pop()}${escaped ?? single ?? double?.replaceAll(/\\(.)/gs, '$1') ?? plain ?? ''}`,
      );
  }
  return words;
}

/** Returns the words that can replace the last of `words`. The first is the name of the program. */
function completionsOf(program: Command, words: readonly string[]): readonly Word[] | 'files' {
  const last = words.at(-1) ?? '';
  let command = program;
  let flag: Option | undefined;
  let isHelp = false;
  for (const word of words.slice(1, -1)) {
    const isValue = flag !== undefined;
    flag = isValue ? undefined : valueFlag(command, word);
    if (isValue) continue;
    const child = childNamed(command, word);
    if (child?.name() === 'help') isHelp = true;
    else command = child ?? command;
  }
  const [inline = '', value] = last.startsWith('--') ? last.split(/=(.*)/s) : [];
  if (value !== undefined) {
    const offered = valuesOf(valueFlag(command, inline), value);
    return offered === 'files'
      ? offered
      : offered.map(([word, ...about]) => [`${inline}=${word}`, ...about]);
  }
  if (flag !== undefined) return valuesOf(flag, last);
  const choices = command.registeredArguments.flatMap(({ argChoices = [], description }) =>
    argChoices.map((choice): Word => [choice, description]),
  );
  const commands = command
    .createHelp()
    .visibleCommands(command)
    .map((child): Word => [child.name(), child.summary() || child.description()]);
  const flags = optionsOf(command).map(({ long, short, description }): Word => [
    long ?? short ?? '',
    description,
  ]);
  return beginning(last, isHelp ? commands : [...commands, ...choices, ...flags]);
}

function beginning(prefix: string, words: readonly Word[]): readonly Word[] {
  return words
    .filter(([word]) => word.startsWith(prefix))
    .map(([word, about = '']) => [word, about.replaceAll(/\s+/g, ' ')]);
}

function valueFlag(command: Command, word: string): Option | undefined {
  return command.options.find(
    ({ long, short, required, optional }) =>
      (required || optional) && (long === word || short === word),
  );
}

function valuesOf(flag: Option | undefined, prefix: string): readonly Word[] | 'files' {
  const [, placeholder = ''] = /<([\w-]+)(?:\.\.\.)?>/.exec(flag?.flags ?? '') ?? [];
  if (placeholder === 'file' || placeholder === 'folder') return 'files';
  const choices = flag?.argChoices ?? (placeholder === '-' ? ['-'] : []);
  return beginning(
    prefix,
    choices.map((choice): Word => [choice]),
  );
}
