/** Which of the backends of a mixed route serves what, so that each era has a part of every kind. */

type Kind = 'tools' | 'prompts' | 'resources'
type Backends = Readonly<Record<'older' | 'olderProgram' | 'modern' | 'modernProgram' | 'module', object>>

/** What each has beside what is named for others; older servers cannot name their questions, which the suite wants of some. */
const parts: Readonly<Record<keyof Backends, Readonly<Record<Kind, readonly string[]>>>> = {
  older: {
    tools: [
      'test_image_content',
      'test_sampling',
      'test_reconnection',
      'test_logging_tool',
      'test_input_required_result_multiple_inputs',
      'test_input_required_result_tampered_state',
      'test_missing_capability'
    ],
    prompts: ['test_input_required_result_prompt', 'test_prompt_with_image'],
    resources: ['test://static-text', 'test://watched-resource']
  },
  olderProgram: {
    tools: [
      'test_simple_text',
      'test_elicitation_sep1034_defaults',
      'test_tool_with_progress',
      'test_input_required_result_list_roots',
      'test_input_required_result_multi_round'
    ],
    prompts: ['test_simple_prompt'],
    resources: []
  },
  modern: {
    tools: [
      'test_audio_content',
      'test_elicitation',
      'test_tool_with_logging',
      'test_x_mcp_header',
      'test_input_required_result_elicitation',
      'test_input_required_result_request_state',
      'test_trigger_*',
      'test_tool_with_task',
      'greet',
      'slow_compute',
      'failing_job',
      'protocol_error_job',
      'confirm_delete',
      'multi_input'
    ],
    prompts: ['test_prompt_with_embedded_resource'],
    resources: ['test://static-binary']
  },
  modernProgram: {
    tools: ['test_error_handling', 'test_input_required_result_capabilities', 'json_schema_2020_12_tool'],
    prompts: [],
    resources: ['test://template/*']
  },
  module: {
    tools: [
      'test_embedded_resource',
      'test_multiple_content_types',
      'test_elicitation_sep1330_enums',
      'test_input_required_result_sampling',
      'test_streaming_elicitation'
    ],
    prompts: ['test_prompt_with_arguments'],
    resources: []
  }
}

const selection = (names: readonly string[]): object => (names.length > 0 ? { allow: names } : { deny: ['*'] })

const selected = (backend: keyof Backends): object =>
  Object.fromEntries(Object.entries(parts[backend]).map(([kind, names]) => [kind, selection(names)]))

export const shared = (backends: Backends): Record<string, object> =>
  Object.fromEntries(
    Object.entries(backends).map(([name, config]) => [name, { ...config, ...selected(name as keyof Backends) }])
  )
