import type { Command, Option } from 'commander';
import { commandsBelow, examplesOf, optionsOf, type Example } from './help.ts';

/** The variables that the commands read, beside those of the service's settings. */
const VARIABLES: readonly (readonly [name: string, meaning: string])[] = [
  ['TSIGIL_URL', 'The service to talk to, where no --url is given; else http://127.0.0.1:9001.'],
  ['TSIGIL_TOKEN', 'The token to show it, where no --token-file is given; else the content of var/admin.token.'],
  ['TSIGIL_CONFIG', 'The configuration file of the service, where no --config is given.'],
  ['OS_CLOUD', 'A cloud in clouds.yaml, for the service and the token, where neither --token-file nor TSIGIL_TOKEN says otherwise.'],
  ['OS_AUTH_URL, OS_USERNAME, OS_PASSWORD, OS_PROJECT_NAME and their kin', "An identity service and credentials, as OpenStack's clients take them."],
  ['OS_AUTH_TYPE, OS_ENDPOINT, OS_TOKEN', 'With admin_token, the service and the token themselves.'],
  ['OS_REGION_NAME, OS_INTERFACE', "Which of a catalogue's endpoints is meant."],
  ['OS_CACERT', 'The certificates that those of the services must lead to.'],
  ['NO_COLOR', 'Set and not empty, nothing is coloured.'],
];

const FILES: readonly (readonly [name: string, meaning: string])[] = [
  ['var/admin.token', 'The first token of a service that was started in the same folder.'],
  ['clouds.yaml, secure.yaml', 'Clouds; looked for in this folder, in ~/.config/openstack and in /etc/openstack.'],
];

const EXIT_CODES: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'Done.'],
  ['1', 'Refused: the service says why.'],
  ['2', 'Used wrongly: bad arguments, or a configuration that is not valid.'],
  ['3', 'The service cannot be reached, is unavailable, or does not accept the token.'],
  ['130', 'Stopped by Ctrl-C; what was done is said.'],
];

/** The manual page of the program in the language of man(7), made from its commands. */
export function manualPage(program: Command, version: string): string {
  const name = program.name();
  const top = program.commands;
  const leaves = commandsBelow(program).filter(({ command }) => command.commands.length === 0);
  return `${[
    `.\\" Printed by '${name} man'. Do not edit.`,
    `.TH ${name.toUpperCase()} 1 "" ${quote(`${name} ${version}`)} "User Commands"`,
    ...section('NAME', [`${name} \\- ${escape(program.description())}`]),
    ...section('SYNOPSIS', [`.B ${name}`, '.I command', '[\\fIoptions\\fR]']),
    ...section(
      'DESCRIPTION',
      top.flatMap((command) => entry(command.name(), command.summary() || command.description())),
    ),
    ...section('OPTIONS', optionsOf(program).flatMap(optionEntry)),
    ...section(
      'COMMANDS',
      leaves.flatMap(({ words, command }) => commandPart(words, command)),
    ),
    ...section(
      'EXIT STATUS',
      EXIT_CODES.flatMap((each) => entry(...each)),
    ),
    ...section(
      'ENVIRONMENT',
      VARIABLES.flatMap((each) => entry(...each)),
    ),
    ...section(
      'FILES',
      FILES.flatMap((each) => entry(...each)),
    ),
    ...section('EXAMPLES', exampleLines(examplesOf(program))),
  ].join('\n')}\n`;
}

function section(title: string, lines: readonly string[]): string[] {
  return [`.SH ${title}`, ...lines];
}

function commandPart(words: readonly string[], command: Command): string[] {
  const parameters = command.registeredArguments.map((argument) => ` <${argument.name()}${argument.variadic ? '...' : ''}>`).join('');
  const examples = exampleLines(examplesOf(command));
  return [
    `.SS ${quote(words.slice(1).join(' ') + parameters)}`,
    escape(sentence(command.description())),
    ...optionsOf(command)
      .filter(({ long }) => long !== '--help')
      .flatMap(optionEntry),
    ...(examples.length === 0 ? [] : ['.PP', 'Examples:', ...examples]),
  ];
}

function optionEntry(option: Option): string[] {
  const choices = option.argChoices === undefined ? '' : ` (${option.argChoices.join(', ')})`;
  const notes = `${option.mandatory ? ' (required)' : ''}${option.envVar === undefined ? '' : ` (default: ${option.envVar})`}`;
  return entry(option.flags, sentence(option.description + choices + notes));
}

function entry(term: string, meaning: string): string[] {
  return ['.TP', `.B ${quote(term)}`, escape(sentence(meaning))];
}

function exampleLines(examples: readonly Example[]): string[] {
  return examples.flatMap(({ command, purpose }) => [
    ...(purpose === undefined ? [] : ['.PP', escape(sentence(purpose))]),
    '.PP',
    '.nf',
    '.RS 4',
    escape(command),
    '.RE',
    '.fi',
  ]);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** Text as it is, whatever roff makes of some characters: a hyphen that can be copied, a line that begins with a dot. */
function escape(text: string): string {
  const escaped = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('^', '\\(ha')
    .replaceAll('~', '\\(ti')
    .replaceAll(/[^\0-\x7f]/gu, (character) => `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}]`);
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/** One argument of a macro. */
function quote(text: string): string {
  return `"${escape(text).replaceAll('"', '\\(dq')}"`;
}
