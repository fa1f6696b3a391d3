// Prints docs/configuration.md from the table of settings in src/options.ts, as built. `npm run docs` writes the page; a test keeps it fresh.
import { describeConfig, readConfig } from '../dist/config.js';
import { CONFIGURABLE_RIGHTS } from '../dist/domain/policy.js';
import { OPTIONS, variableOf } from '../dist/options.js';

const rows = OPTIONS.map((option) => `| \`${option.key}\` | \`${variableOf(option)}\` | ${option.type} | ${defaultOf(option)} | ${option.meaning} |`);

process.stdout.write(`# Configuration

<!-- Generated from src/options.ts by \`npm run docs\`. Edit that table, not this page. -->

Every setting has a default, a key in the configuration file, and an environment variable. A variable beats the file, the file beats
the default; an empty variable counts as unset. The file is YAML; name it with \`--config\` or \`TSIGIL_CONFIG\`. There is none by default.

An unknown key, an unknown variable that begins with \`TSIGIL_\`, or a bad value stops the start, and the message lists everything that
is wrong. \`tsigil check-config\` makes the same check and prints the configuration as it takes effect, with secrets hidden. The
configuration is read once, at the start: restart the service to change it.

## Settings

| Key | Variable | Value | Default | Meaning |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

A key with dots is a nested map in the file: \`log.level\` is \`level\` under \`log\`. In a variable, numbers, booleans, lists and maps are
written as YAML: \`TSIGIL_CORS_ALLOWED_ORIGINS='["https://console.example"]'\`, \`TSIGIL_POLICY='{"tlds:list": [admin, reader]}'\`.

## Example

A service for other machines, over TLS, whose readers may list and read TLDs:

\`\`\`yaml
listen: 0.0.0.0:9001
publicUrl: https://dns.example:9001
database: sqlite:/var/lib/tsigil/tsigil.db
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

${[...new Set(CONFIGURABLE_RIGHTS.map(collectionOf))].map(rightsOf).join('\n')}

An entry replaces the default, \`[admin]\`: leave \`admin\` out and administrators cannot do it either. Roles compare without regard to case.
The operations on tokens are not among these: whoever can make tokens can be anyone.

## Everything at its default

As \`tsigil check-config\` prints it; settings without a default are absent.

\`\`\`yaml
${describeConfig(readConfig(undefined, {})).trimEnd()}
\`\`\`

## Variables that are no settings

| Variable | Read by | Meaning |
| --- | --- | --- |
| \`TSIGIL_CONFIG\` | \`serve\`, \`check-config\`, \`backup\` | The configuration file, where \`--config\` is not given. |
| \`TSIGIL_URL\` | the client | The service to talk to, where \`--url\` is not given; else \`http://127.0.0.1:9001\`. |
| \`TSIGIL_TOKEN\` | the client | The token to show it, where \`--token-file\` is not given; else the content of \`var/admin.token\`. |

The client is every command that asks a service; what else it reads is in [the command line](command-line.md#which-service-which-token).

Variables that Kubernetes sets for a service named \`tsigil\` (\`TSIGIL_SERVICE_HOST\`, \`TSIGIL_PORT\` and their kin) are ignored.
`);

/** `tlds` of `tlds:list`; nothing of a modifier, such as `use_sudo`. */
function collectionOf(right) {
  return right.split(':').slice(0, -1).join();
}

/** A list item of the operations on one collection, or of the modifiers. */
function rightsOf(collection) {
  const rights = CONFIGURABLE_RIGHTS.filter((right) => collectionOf(right) === collection);
  return `- ${rights.map((right) => `\`${right}\``).join(', ')}`;
}

function defaultOf(option) {
  if (option.default === undefined) return 'unset';
  return `\`${typeof option.default === 'string' ? option.default : JSON.stringify(option.default)}\``;
}
