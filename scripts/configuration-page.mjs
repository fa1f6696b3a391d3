// Prints docs/configuration.md from the table of settings in src/config/options.ts, as built. `npm run docs` writes the page; a test keeps it fresh.
import { formatYaml } from '../dist/cli/output/plain-text.js';
import { describeConfig, readConfig } from '../dist/config/config.js';
import { fileVariableOf, variableOf } from '../dist/config/option.js';
import { OPTIONS } from '../dist/config/options.js';
import { CONFIGURABLE_RIGHTS, DEFAULT_POLICY } from '../dist/domain/resources/policy.js';

const variablesOf = (option) =>
  [variableOf(option), fileVariableOf(option)]
    .filter(Boolean)
    .map((name) => `\`${name}\``)
    .join(' or ');
const rows = OPTIONS.map(
  (option) => `| \`${option.key}\` | ${variablesOf(option)} | ${valuesOf(option.kind.schema)} | ${defaultOf(option)} | ${option.meaning} |`,
);

process.stdout.write(`# Configuration

<!-- Generated from src/config/options.ts by \`npm run docs\`. Edit that table, not this page. -->

Every setting has a default, a key in the configuration file, and an environment variable. A variable beats the file, the file beats
the default; an empty variable counts as unset. The file is YAML; name it with \`--config\` or \`TSIGIL_CONFIG\`. There is none by default.

The service does not start with an unknown key, an unknown variable that begins with \`TSIGIL_\`, a bad value, or a file that it cannot read or
use. The message lists everything that is wrong, and the exit code is 2. \`tsigil check-config\` makes the same checks and prints the effective
configuration. It hides secrets, and the password in a database URL. The service reads its configuration once: restart it to apply changes.

A secret can also be given as a file: a variable that ends in \`_FILE\` names it, and its content without the final newline is the value. Both variables
together stop the start. [Operations](operations.md#give-the-service-its-secrets) shows credentials of systemd.

## Settings

| Key | Variable | Value | Default | Meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

A key with dots is a nested map in the file: \`log.level\` is \`level\` under \`log\`. In a variable, numbers, booleans, lists and maps are
written as YAML: \`TSIGIL_CORS_ALLOWED_ORIGINS='["https://console.example"]'\`, \`TSIGIL_POLICY='{"tlds:list": [admin, reader]}'\`.

## Example

A service for other machines, over TLS, on PostgreSQL, with a process for each of four cores, whose readers may list and read TLDs:

\`\`\`yaml
listen: 0.0.0.0:9001
publicUrl: https://dns.example:9001
database: postgres://tsigil@db.example/tsigil?sslmode=verify-full
workers: 4
tls:
  cert: /etc/tsigil/tls/chain.pem
  key: /etc/tsigil/tls/key.pem
policy:
  tlds:list: [admin, reader]
  tlds:get: [admin, reader]
rateLimit:
  requestsPerSecond: 50
\`\`\`

## Operations that \`policy\` can open

| Operations | Roles by default |
| --- | --- |
${[...new Set(CONFIGURABLE_RIGHTS.map(groupOf))].map(rightsOf).join('\n')}

An entry replaces the default: leave \`admin\` out and administrators cannot do it either. Roles compare without regard to case.
The operations without a collection set the context of a request. The [API reference](api.md#request-context-headers) describes them.
The operations on tokens are not among these: whoever can make tokens can be anyone.

## Everything at its default

As \`tsigil check-config\` prints it; settings without a default are absent.

\`\`\`yaml
${formatYaml(describeConfig(readConfig(undefined, {}))).trimEnd()}
\`\`\`

## Variables that are no settings

| Variable | Read by | Meaning |
| --- | --- | --- |
| \`TSIGIL_CONFIG\` | \`serve\`, \`check-config\`, \`backup\`, \`migrate\`, \`copy-database\` | The configuration file, where \`--config\` is not given. |
| \`TSIGIL_URL\` | the client | The service to talk to, where \`--url\` is not given; else \`http://127.0.0.1:9001\`. |
| \`TSIGIL_TOKEN\` | the client | The token to show it, where \`--token-file\` is not given; else the content of \`var/admin.token\`. |
| \`PGPASSFILE\` | \`serve\`, \`migrate\`, \`copy-database\` | A password file of PostgreSQL, for a database whose URL has no password, where \`PGPASSWORD\` is not set. |

The client is every command that asks a service; what else it reads is in [the command line](command-line.md#which-service-which-token).

Variables that Kubernetes sets for a service named \`tsigil\` (\`TSIGIL_SERVICE_HOST\`, \`TSIGIL_PORT\` and their kin) are ignored.
`);

/** Returns what values a setting accepts, from the JSON Schema of its kind. */
function valuesOf({ description, type, enum: values, minimum, maximum, items, anyOf }) {
  if (description !== undefined) return description;
  if (values !== undefined) return values.join(', ');
  if (anyOf !== undefined) return `${valuesOf(anyOf[0])}, or a list of these`;
  if (type === 'array') return `a list, each item ${valuesOf(items)}`;
  return type === 'integer' ? `an integer from ${minimum} to ${maximum}` : 'true or false';
}

/** Stands for the operations of one collection, or the modifiers, that the same roles may do. */
function groupOf(right) {
  return `${right.split(':').slice(0, -1).join()} ${DEFAULT_POLICY[right].join()}`;
}

/** A row of the operations of one group. */
function rightsOf(group) {
  const rights = CONFIGURABLE_RIGHTS.filter((right) => groupOf(right) === group);
  return `| ${inCode(rights)} | ${inCode(DEFAULT_POLICY[rights[0]])} |`;
}

function inCode(words) {
  return words.map((word) => `\`${word}\``).join(', ');
}

function defaultOf(option) {
  if (option.default === undefined) return 'unset';
  return `\`${typeof option.default === 'string' ? option.default : JSON.stringify(option.default)}\``;
}
