import js from "@eslint/js";

export default [
  { ignores: ["**/node_modules/**"] },
  js.configs.recommended,
  {
    files: ["**/*.js"],
    languageOptions: { sourceType: "script", ecmaVersion: 2023 },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "off", // TypeScript knows what there is
      "no-control-regex": "off", // they are what is looked for
      "no-unused-vars": ["error", { varsIgnorePattern: "^(regard|engine|course)$", argsIgnorePattern: "^_+$" }],
      "no-var": "error",
      "prefer-const": "error",
      "eqeqeq": "error",
      "no-implicit-globals": "error",
      "no-shadow": "error",
      "strict": ["error", "global"],
      "no-eval": "error",
      "no-restricted-properties": ["error", { property: "outerHTML" }, { property: "insertAdjacentHTML" }],
    },
  },
];
