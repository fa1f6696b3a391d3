// Prints docs/configuration.md from the built table of settings.
// `npm run docs` writes the page, and a test compares the page with this output.
import { formatYaml } from '../dist/cli/output/yaml.js';
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
  (option) =>
    `| \`${option.key}\` | ${variablesOf(option)} | ${valuesOf(option.kind.schema)} | ${defaultOf(option)} | ${option.reload} | ${option.meaning} |`,
);

process.stdout.write(`# Configuration

<!-- Generated from src/config/options.ts by \`npm run docs\`. Edit that table, not this page. -->

This reference lists all settings of the service for operators, with their defaults and environment variables.

- [How settings are read](#how-settings-are-read)
- [Settings](#settings)
- [Example configuration](#example-configuration)
- [Rights and default roles](#rights-and-default-roles)
- [Default configuration](#default-configuration)
- [Other environment variables](#other-environment-variables)

## How settings are read

Every setting has a key in the configuration file and an environment variable.
A variable overrides the file, and the file overrides the default.
An empty variable counts as unset.
The file is YAML.
Set the path of the file with \`--config\` or \`TSIGIL_CONFIG\`.
By default, the service reads no file.

The service does not start with:

- an unknown key
- an unknown variable that begins with \`TSIGIL_\`
- an invalid value
- a file that it cannot read or use

In these cases, the service lists all problems and exits with 2.
\`tsigil check-config\` makes the same checks and prints the effective configuration.
The output hides secrets, and the password in a database URL.

The service reads its configuration at startup, and again at SIGHUP.
The column Reload below shows the effect of SIGHUP on a changed setting:

| Reload | Effect of SIGHUP |
| --- | --- |
| yes | The service applies the new value to later requests. |
| while set | The service applies the new value to later requests if the setting had a value before. If you add or remove the value, the change needs a restart. |
| no | The change needs a restart. The service logs the name of the setting. |

[Install and configure](install.md#change-the-configuration-without-a-restart) shows the steps.

A secret can also be in a file.
Set the variable that ends in \`_FILE\` to the path of the file.
The secret is the content of the file without the final newline.
If the variables with and without \`_FILE\` are both set, the service does not start.
[Install and configure](install.md#give-the-service-its-secrets) shows how to use systemd credentials.

## Settings

| Key | Variable | Value | Default | Reload | Meaning |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

A key with dots is a nested map in the file: \`log.level\` is \`level\` under \`log\`.
In a variable, write numbers, booleans, lists and maps as YAML:

- \`TSIGIL_CORS_ALLOWED_ORIGINS='["https://console.example"]'\`
- \`TSIGIL_POLICY='{"tlds:list": [admin, reader]}'\`

## Example configuration

This service accepts requests from other machines over TLS, and uses PostgreSQL.
The service runs four worker processes.
Callers with the role \`reader\` can list and read TLDs:

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

## Rights and default roles

The setting \`policy\` changes the roles that have these rights:

| Rights | Default roles |
| --- | --- |
${[...new Set(CONFIGURABLE_RIGHTS.map(groupOf))].map(rightsOf).join('\n')}

An entry in \`policy\` replaces the default roles of a right.
If the entry omits \`admin\`, administrators do not have the right.
Roles are case-insensitive.

A right without a colon, such as \`use_sudo\`, permits a request context header.
The [API reference](api.md#request-context-headers) lists the right that each header needs.

\`policy\` cannot grant rights on tokens, because a caller who can create tokens can get every right.

## Default configuration

This is the output of \`tsigil check-config\` without any settings.
Settings without a default are absent.

\`\`\`yaml
${formatYaml(describeConfig(readConfig(undefined, {}))).trimEnd()}
\`\`\`

## Other environment variables

| Variable | Read by | Meaning |
| --- | --- | --- |
| \`TSIGIL_CONFIG\` | \`serve\`, \`check-config\`, \`backup\`, \`migrate\`, \`copy-database\`, the client | The configuration file, unless \`--config\` is set. The client reads the address of the service on this machine from this file. |
| \`TSIGIL_URL\` | the client | The address of the service, unless \`--url\` is set. The default is the address in the current profile, or the address of the service on this machine. |
| \`TSIGIL_TOKEN\` | the client | The token, unless \`--token-file\` is set. The default is the token of the current profile, or the first token of the service on this machine. |
| \`PGPASSFILE\` | \`serve\`, \`migrate\`, \`copy-database\` | A PostgreSQL password file. The commands read this file if the database URL has no password and \`PGPASSWORD\` is not set. |

"The client" means every command that sends requests to a service.
[Command line](command-line.md#service-address-and-token) lists the other settings of the client.

The service ignores the variables that Kubernetes sets for a service named \`tsigil\`, such as \`TSIGIL_SERVICE_HOST\` and \`TSIGIL_PORT\`.
`);

/** Describes the values that a setting accepts, from the JSON Schema of its kind. */
function valuesOf({ description, type, enum: values, minimum, maximum, items, anyOf }) {
  if (description !== undefined) return description;
  if (values !== undefined) return values.join(', ');
  if (anyOf !== undefined) return `${valuesOf(anyOf[0])}, or a list of these`;
  if (type === 'array') return `a list, each item ${valuesOf(items)}`;
  return type === 'integer' ? `an integer from ${minimum} to ${maximum}` : 'true or false';
}

/** Returns the group of a right: its collection, if any, and its default roles. */
function groupOf(right) {
  return `${right.split(':').slice(0, -1).join()} ${DEFAULT_POLICY[right].join()}`;
}

/** Returns the table row of one group. */
function rightsOf(group) {
  const rights = CONFIGURABLE_RIGHTS.filter((right) => groupOf(right) === group);
  return `| ${inCode(rights)} | ${inCode(DEFAULT_POLICY[rights[0]])} |`;
}

function inCode(words) {
  return words.map((word) => `\`${word}\``).join(', ');
}

function defaultOf(option) {
  const text = textOf(option.default);
  const other = option.designate === undefined ? text : textOf(option.designate);
  return other === text ? text : `${text}; ${other} with \`compatibility: designate\``;
}

function textOf(value) {
  if (value === undefined) return 'unset';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
