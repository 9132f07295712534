package embedded

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// usersText: `default` is the engine's own session, which logs in without a password from loopback, so its only right
// is to open the port; requests need the key of configText besides. Passwords are digests, since SQL can read this file.
// Reader's profile declares few settings changeable: those that clients send unasked, and those for the format and the
// time limit of a result. Looking for chains of comparisons, or for common parts of an OR, costs a large query half a
// second or a tenth of its plan, and finds none in ours.
const usersText = `<clickhouse>
  <profiles>
    <default>
      <async_insert>0</async_insert>
      <optimize_and_compare_chain>0</optimize_and_compare_chain>
      <optimize_extract_common_expressions>0</optimize_extract_common_expressions>
    </default>
    <reader>
      <readonly>1</readonly>
      <async_insert>0</async_insert>
      <optimize_and_compare_chain>0</optimize_and_compare_chain>
      <optimize_extract_common_expressions>0</optimize_extract_common_expressions>
      <max_execution_time>60</max_execution_time>
      <constraints>%s</constraints>
    </reader>
  </profiles>
  <users>
    <default>
      <password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
      <grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants>
    </default>
    <owner>
      <password_sha256_hex>%s</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
    </owner>
    <reader>
      <password_sha256_hex>%s</password_sha256_hex><networks><ip>127.0.0.1</ip></networks><profile>reader</profile><quota>default</quota>
      <grants><query>GRANT SELECT, SHOW, dictGet ON *.*</query></grants>
    </reader>
  </users>
  <quotas><default/></quotas>
</clickhouse>
`

// configText: caches and pools for a machine that has other work; ClickHouse's defaults take half of it. Without the
// sections for query_log and the like, it keeps none. One thread merges, so that merging never holds up more than
// half of two cores. Parts stay in one file each up to that size: a file per column of 26 means 50 fsyncs an insert.
// Column statistics serve the order of joins, which our queries state. However many parts are broken, the engine starts without
// them: the start names them, and they are filled from archive and stream. Requests are answered by the listed handlers only,
// which want the key: any user of the machine may reach the port where the engine shares its network.
const configText = `<clickhouse>
  <users_config>%[1]s</users_config>
  <user_directories><users_xml><path>%[1]s</path></users_xml></user_directories>
  <user_files_path>%[2]s</user_files_path>
  <max_server_memory_usage>%[3]d</max_server_memory_usage>
  <mark_cache_size>134217728</mark_cache_size>
  <primary_index_cache_size>67108864</primary_index_cache_size>
  <index_mark_cache_size>33554432</index_mark_cache_size>
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <compiled_expression_cache_size>16777216</compiled_expression_cache_size>
  <max_thread_pool_size>512</max_thread_pool_size>
  <max_thread_pool_free_size>8</max_thread_pool_free_size>
  <max_connections>256</max_connections>
  <background_pool_size>1</background_pool_size>
  <background_merges_mutations_concurrency_ratio>1</background_merges_mutations_concurrency_ratio>
  <background_schedule_pool_size>2</background_schedule_pool_size>
  <background_schedule_pool_initial_size>2</background_schedule_pool_initial_size>
  <http_handlers>
    <rule>
      <url>/ping</url><headers><%[4]s>%[5]s</%[4]s></headers>
      <handler><type>static</type><response_content>Ok.&#10;</response_content></handler>
    </rule>
    <rule>
      <headers><%[4]s>%[5]s</%[4]s></headers>
      <handler><type>dynamic_query_handler</type><query_param_name>query</query_param_name></handler>
    </rule>
  </http_handlers>
  <merge_tree>
    <min_bytes_for_wide_part>268435456</min_bytes_for_wide_part>
    <auto_statistics_types></auto_statistics_types>
    <max_suspicious_broken_parts>1000000000</max_suspicious_broken_parts>
    <max_suspicious_broken_parts_bytes>1000000000000000000</max_suspicious_broken_parts_bytes>
  </merge_tree>
  <tables_loader_foreground_pool_size>2</tables_loader_foreground_pool_size>
  <asynchronous_metrics_update_period_s>30</asynchronous_metrics_update_period_s>
  <display_secrets_in_show_and_select>0</display_secrets_in_show_and_select>
</clickhouse>
`

// keepAlive opens the port and then never ends: ClickHouse lives as long as its query. It reads no file, so that
// nothing on disk can end it.
const keepAlive = "SYSTEM START LISTEN HTTP; SELECT count() FROM numbers(4000000000) WHERE NOT ignore(sleepEachRow(3)) " +
	"SETTINGS max_block_size=1, max_threads=1, max_execution_time=0"

func changeableByReader() []string {
	return []string{
		"limit", "max_execution_time", "max_threads", "join_algorithm", "join_use_nulls", "max_result_rows", "max_result_bytes", "result_overflow_mode",
		"enable_http_compression", "http_zlib_compression_level", "network_compression_method", "http_response_buffer_size",
		"send_progress_in_http_headers", "http_headers_progress_interval_ms", "http_write_exception_in_output_format",
		"date_time_output_format", "session_timezone", "output_format_arrow_compression_method", "output_format_arrow_string_as_string",
		"output_format_arrow_low_cardinality_as_dictionary", "output_format_json_quote_denormals", "output_format_json_quote_64bit_integers",
		"output_format_native_write_json_as_string", "output_format_parquet_compression_method", "format_csv_null_representation",
	}
}

// writeSettings writes both files under the engine's folder, readable by this user alone, and returns the
// configuration's path.
func writeSettings(folder string, memoryBytes int64, engine guard.Engine) (string, error) {
	users, config := filepath.Join(folder, "users.xml"), configFile(folder)
	var changeable strings.Builder
	for _, name := range changeableByReader() {
		_, _ = fmt.Fprintf(&changeable, "<%s><changeable_in_readonly/></%[1]s>", name)
	}
	usersXML := fmt.Sprintf(usersText, changeable.String(), digest(engine.OwnerPassword), digest(engine.ReaderPassword))
	if err := writePrivate(users, usersXML); err != nil {
		return "", err
	}
	text := fmt.Sprintf(configText, escape(users), escape(filepath.Join(folder, "files")), memoryBytes, guard.KeyHeader, engine.Key)
	return config, writePrivate(config, text)
}

func configFile(folder string) string { return filepath.Join(folder, "config.xml") }

// hideKey removes the configuration of an engine that has read it, since SQL can read files.
func hideKey(folder string) error {
	if err := os.Remove(configFile(folder)); err != nil {
		return fmt.Errorf("remove the engine's settings: %w", err)
	}
	return nil
}

func writePrivate(path, text string) error {
	if err := durable.WriteFile(path, strings.NewReader(text)); err != nil {
		return fmt.Errorf("write the engine's settings: %w", err)
	}
	return nil
}

func digest(password string) string {
	sum := sha256.Sum256([]byte(password))
	return hex.EncodeToString(sum[:])
}

func escape(text string) string {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text))
	return escaped.String()
}
