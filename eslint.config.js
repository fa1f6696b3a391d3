import tseslint from 'typescript-eslint';

const RESTRICTED_PROPERTIES = [
  {
    object: 'AbortSignal',
    property: 'any',
    message:
      'Node.js may garbage-collect timeout signals in the result. Use signalWithin in net/deadline.ts.',
  },
];

/** The calls that only few files make, because every other goes through them. */
const CHANGES = [
  {
    selector:
      'CallExpression[callee.property.name="write"]:matches([callee.object.name="store"], [callee.object.property.name="store"])',
    message: 'Resources change only through resources/operations/change.ts.',
  },
  {
    selector:
      'CallExpression[callee.object.name="writer"][callee.property.name=/^(insert|replace|remove|putAll|removeAll)$/]',
    message: 'Rows of resources change only through resources/operations/change.ts.',
  },
];

const REQUESTS = ['request', 'get', 'Agent'];

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'var/', 'coverage/'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      'no-nested-ternary': 'error',
      // All implementations of a port are asynchronous if one of them is.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowNullish: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true },
      ],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // Ports are plain objects with functions. Only error classes use `this`.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      // Slow, and without effect: the code has no enum, and no class but errors.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      'no-console': 'error',
      'no-restricted-properties': ['error', ...RESTRICTED_PROPERTIES],
    },
  },
  {
    files: ['src/**'],
    rules: {
      'no-restricted-syntax': ['error', ...CHANGES],
      'no-restricted-properties': [
        'error',
        ...RESTRICTED_PROPERTIES,
        {
          object: 'process',
          property: 'env',
          message: 'Only commands.ts and command-config.ts read the environment.',
        },
      ],
      'no-restricted-globals': [
        'error',
        {
          name: 'fetch',
          message: 'Requests leave through net, or console/requests.ts in browsers.',
        },
      ],
      'no-restricted-imports': [
        'error',
        ...['node:http', 'node:https'].map((name) => ({
          name,
          importNames: REQUESTS,
          message: 'Requests leave through net/http.ts.',
        })),
        { name: 'node:dgram', message: 'Datagrams leave through net/dns.ts.' },
      ],
    },
  },
  // A copy fills another database.
  {
    files: ['src/resources/operations/change.ts', 'src/backup/copy.ts'],
    rules: { 'no-restricted-syntax': 'off' },
  },
  {
    files: ['src/commands.ts', 'src/command-config.ts'],
    rules: { 'no-restricted-properties': ['error', ...RESTRICTED_PROPERTIES] },
  },
  { files: ['src/net/**'], rules: { 'no-restricted-imports': 'off' } },
  { files: ['src/console/requests.ts'], rules: { 'no-restricted-globals': 'off' } },
  {
    // Tests read untyped members of responses. Each expectation checks the value of a member.
    files: ['test/**'],
    rules: {
      ...Object.fromEntries(
        ['argument', 'assignment', 'call', 'member-access', 'return'].map((kind) => [
          `@typescript-eslint/no-unsafe-${kind}`,
          'off',
        ]),
      ),
    },
  },
  {
    files: ['test/**'],
    ignores: ['test/harness/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        ...RESTRICTED_PROPERTIES,
        ...[
          ['performance', 'now'],
          ['process', 'cpuUsage'],
          ['process', 'hrtime'],
        ].map(([object, property]) => ({
          object,
          property,
          message:
            'No test depends on the speed of the machine: a wait ends with its event, and figures belong to bench/.',
        })),
        ...['describe', 'test'].flatMap((object) =>
          ['fails', 'skip', 'todo'].map((property) => ({
            object,
            property,
            message:
              'No test is left out silently: correct or remove it, or use `isMet` in tools.ts.',
          })),
        ),
      ],
    },
  },
  { files: ['**/*.js', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
);
