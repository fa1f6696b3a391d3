// Prints docs/configuration.md from the built table of settings.
// `npm run docs` writes the page, and a test compares the page with this output.
import { fileVariableOf, variableOf } from '../dist/config/option.js';
import { OPTIONS } from '../dist/config/options.js';

const variablesOf = (option) =>
  [variableOf(option), fileVariableOf(option)]
    .filter(Boolean)
    .map((name) => `\`${name}\``)
    .join(' or ');
const rows = OPTIONS.map(
  (option) =>
    `| \`${option.key}\` | ${variablesOf(option)} | ${valuesOf(option.kind.schema)} | ${defaultOf(option)} | ${option.reload ?? 'no'} | ${option.meaning} |`,
);

process.stdout.write(`# Configuration

<!-- Generated from src/config/options.ts by \`npm run docs\`. Edit that table, not this page. -->

All settings of the service, with their defaults and environment variables.

- [How settings are read](#how-settings-are-read)
- [Settings](#settings)
- [Example configuration](#example-configuration)
- [Other environment variables](#other-environment-variables)

## How settings are read

Every setting has a key in the YAML file that \`--config\` or \`TSIGIL_CONFIG\` names, and an environment variable.
A variable overrides the file, and the file overrides the default.
An empty variable counts as unset.

The service does not start with an unknown key, an unknown variable that begins with \`TSIGIL_\`, an invalid value, or a file that it cannot read: it lists all problems.
\`tsigil check-config\` makes the same checks and prints the effective configuration, without secrets; without any settings, these are the defaults.

The column Reload shows what happens to a changed setting at [SIGHUP](install.md#change-the-configuration-without-a-restart):

| Reload | Effect of SIGHUP |
| --- | --- |
| yes | Later requests use the new value. |
| while set | The same, but to add or remove the value needs a restart. |
| no | The change needs a restart. The service logs the name of the setting. |

A variable that ends in \`_FILE\` names [a file with the secret](install.md#give-the-service-its-secrets).

## Settings

| Key | Variable | Value | Default | Reload | Meaning |
| --- | --- | --- | --- | --- | --- |
${rows.join('\n')}

A key with dots is a nested map in the file: \`log.level\` is \`level\` under \`log\`.
In a variable, write numbers, booleans, lists and maps as YAML:

- \`TSIGIL_CORS_ALLOWED_ORIGINS='["https://console.example"]'\`
- \`TSIGIL_POLICY='{"tlds:list": [admin, reader]}'\`

## Example configuration

This service accepts requests from other machines over TLS, uses PostgreSQL, and lets callers with the role \`reader\` list and read TLDs ([rights and roles](api.md#who-may-do-what)):

\`\`\`yaml
listen: 0.0.0.0:9001
publicUrl: https://dns.example:9001
database: postgres://tsigil@db.example/tsigil?sslmode=verify-full
tls:
  cert: /etc/tsigil/tls/chain.pem
  key: /etc/tsigil/tls/key.pem
policy:
  tlds:list: [admin, reader]
  tlds:get: [admin, reader]
rateLimit:
  requestsPerSecond: 50
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
  return type === 'integer' ? `${minimum} to ${maximum}` : 'true or false';
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
