# SPDX-License-Identifier: GPL-2.0-or-later
# The unit tests: tests/unit/ROOM/test_MODULE is the test of src/ROOM/MODULE.c; scenario/ has what no single module shows.
# A test of one file is one word here; UNIT_LIBS is what it links.
#
# These modules have no test of their name (tests/lint reads the list):
# - src/cli but for what is below, src/plugins but for run_snapshot, usage_journal and job_submit_colocate, src/poppa/daemon,
#   poppa_ledgerd, guard and guardctl are programs and plugins: tests/cli and tests/integration
# - job_class: test_job_names
# - farm_keys: test_farm_schedule; farm_limit, farm_main, farm_run, farm_worker: tests/cli/farm.t
# - expectation_hints, expectation_parameters, expectation_table: test_expectation
# - job_request, partition_offer, site_default: test_job_submit_colocate; job_qos: 21-defaults.t
# - counter_error, counter_event, counter_perf, counter_sys, counter_threads: test_counter and test_counter_live
# - counter_heartbeat: heartbeat/test_heartbeat
# - pairs_trials: test_imported_trial
# - gpu_energy, gpu_way: tests/cli/gpu.t
# - mapper_classify, mapper_place: test_mapper; recording: tests/cli/map.t
# - jobs_map: tests/vm/run map
# - busy: test_rounds
# - peer, line_order: test_server
# - heartbeat_mpi: test_heartbeat_mpi.sh and test_mpi_wait.sh
# - estimator_robust, estimator_thesis: test_estimator
# - shutterlog_blocks, shutterlog_read: test_shutterlog
# - pause_sigstop: test_pause
# - shutter_block: test_shutter
# - runner_tasks: test_runner

UNIT_LIBS = libmapper.la libgpu.la libcolumns.la libpreload.la libtrial.la libbill.la libsettle.la libledger.la libtopology.la libpartners.la libhistory.la libreuse.la libsubmit.la liblanes.la \
	$(POPPAD_LIBS) libheartbeat.la
TEST_LDADD = $(UNIT_LIBS) $(CMOCKA_LIBS) -lm
LDADD = $(TEST_LDADD)
# A test that hangs is one that fails.
LOG_COMPILER = timeout -k 10 600

if HAVE_CMOCKA
check_PROGRAMS += \
	tests/unit/statistics/test_statistics \
	tests/unit/common/test_askers \
	tests/unit/common/test_clock \
	tests/unit/common/test_counter_backends \
	tests/unit/common/test_errmsg \
	tests/unit/common/test_fsio \
	tests/unit/common/test_hostport \
	tests/unit/common/test_keyval \
	tests/unit/common/test_log \
	tests/unit/common/test_log_limit \
	tests/unit/common/test_nodeconf \
	tests/unit/common/test_price_policy \
	tests/unit/common/test_price_rules \
	tests/unit/common/test_settings \
	tests/unit/common/test_settings_kept \
	tests/unit/common/test_stripe_default \
	tests/unit/common/test_tags \
	tests/unit/common/test_text_append \
	tests/unit/common/test_units \
	tests/unit/common/test_printable \
	tests/unit/common/test_journal \
	tests/unit/columns/test_columns \
	tests/unit/farm/test_farm_input \
	tests/unit/farm/test_farm_journal \
	tests/unit/farm/test_farm_schedule \
	tests/unit/gpu/test_gpu_amd \
	tests/unit/gpu/test_gpu_curve \
	tests/unit/gpu/test_gpu_decide \
	tests/unit/gpu/test_gpu_kept \
	tests/unit/gpu/test_gpu_power \
	tests/unit/horton/test_change \
	tests/unit/horton/test_lookup \
	tests/unit/horton/test_table \
	tests/unit/mapper/test_mapper \
	tests/unit/preload/test_offer \
	tests/unit/preload/test_program \
	tests/unit/registration/test_ask_pace \
	tests/unit/registration/test_registration \
	tests/unit/plugins/job_submit_colocate/test_job_submit_colocate \
	tests/unit/striping/lanes/test_lanes \
	tests/unit/striping/lanes/test_occupancy \
	tests/unit/striping/lanes/test_topology \
	tests/unit/striping/submit/test_apart \
	tests/unit/striping/submit/test_constraint \
	tests/unit/striping/submit/test_colocate_option \
	tests/unit/striping/submit/test_submission \
	tests/unit/striping/history/test_aged_mean \
	tests/unit/striping/history/test_class_name \
	tests/unit/striping/partners/test_expected_end \
	tests/unit/striping/partners/test_expectation \
	tests/unit/striping/partners/test_exploration \
	tests/unit/striping/partners/test_exploratory_start \
	tests/unit/striping/history/test_imported_trial \
	tests/unit/striping/history/test_job_names \
	tests/unit/striping/partners/test_lane_yield \
	tests/unit/striping/partners/test_node_choice \
	tests/unit/striping/partners/test_outlook \
	tests/unit/striping/partners/test_user_weight \
	tests/unit/striping/history/test_line_fields \
	tests/unit/striping/history/test_miss_cost \
	tests/unit/striping/history/test_pair_evidence \
	tests/unit/striping/history/test_pair_told \
	tests/unit/striping/history/test_pairs \
	tests/unit/striping/partners/test_partner \
	tests/unit/striping/partners/test_partner_times \
	tests/unit/striping/history/test_plain_queue \
	tests/unit/striping/partners/test_random_bits \
	tests/unit/striping/partners/test_separation \
	tests/unit/striping/history/test_spread_gain \
	tests/unit/striping/history/test_user_rows \
	tests/unit/striping/reuse/test_balance_set \
	tests/unit/striping/reuse/test_cache_forecast \
	tests/unit/striping/reuse/test_forecast \
	tests/unit/striping/reuse/test_group_overlap \
	tests/unit/striping/reuse/test_histogram \
	tests/unit/striping/reuse/test_miss_rate \
	tests/unit/striping/reuse/test_profiles \
	tests/unit/striping/reuse/test_sampler \
	tests/unit/striping/reuse/test_shared_cache \
	tests/unit/sim/test_backfill \
	tests/unit/sim/test_caches \
	tests/unit/sim/test_progress \
	tests/unit/sim/policy/test_assign \
	tests/unit/sim/world/test_matrix \
	tests/unit/sim/world/test_trace \
	tests/unit/heartbeat/test_heartbeat \
	tests/unit/trial/test_keeper \
	tests/unit/trial/test_launch \
	tests/unit/trial/test_matching \
	tests/unit/trial/test_outcome \
	tests/unit/trial/test_rounds \
	tests/unit/trial/test_runner \
	tests/unit/trial/test_self \
	tests/unit/trial/test_tagged \
	tests/unit/accounting/record/test_client \
	tests/unit/accounting/record/test_fields \
	tests/unit/accounting/record/test_origin \
	tests/unit/accounting/record/test_price \
	tests/unit/accounting/record/test_record \
	tests/unit/accounting/record/test_settlement \
	tests/unit/accounting/record/test_slow_prior \
	tests/unit/accounting/record/test_wire \
	tests/unit/accounting/ledgerd/test_ledger \
	tests/unit/accounting/ledgerd/test_ledger_columns \
	tests/unit/accounting/ledgerd/test_ledger_file \
	tests/unit/accounting/ledgerd/test_ledger_prior \
	tests/unit/accounting/ledgerd/test_ledger_records \
	tests/unit/accounting/ledgerd/test_ledger_schema \
	tests/unit/accounting/ledgerd/test_ledger_settlements \
	tests/unit/accounting/ledgerd/test_ledger_status \
	tests/unit/accounting/ledgerd/test_server \
	tests/unit/accounting/ledgerd/test_service \
	tests/unit/accounting/settle/test_decay \
	tests/unit/accounting/settle/test_refunds \
	tests/unit/accounting/settle/test_settle \
	tests/unit/accounting/settle/test_pass_order \
	tests/unit/accounting/settle/test_time_limit \
	tests/unit/accounting/settle/test_waiting_runs \
	tests/unit/accounting/bill/test_bill \
	tests/unit/accounting/bill/test_compact \
	tests/unit/accounting/bill/test_explain \
	tests/unit/accounting/bill/test_gains \
	tests/unit/accounting/bill/test_past_runs \
	tests/unit/accounting/bill/test_spread \
	tests/unit/accounting/bill/test_student \
	tests/unit/accounting/bill/test_summary \
	tests/unit/accounting/bill/test_what_if \
	tests/unit/poppa/hold/test_find_tasks \
	tests/unit/poppa/hold/test_freezer \
	tests/unit/poppa/hold/test_held \
	tests/unit/poppa/hold/test_held_handles \
	tests/unit/poppa/hold/test_held_release \
	tests/unit/poppa/hold/test_job_cpu \
	tests/unit/poppa/hold/test_new_tasks \
	tests/unit/poppa/hold/test_pause \
	tests/unit/poppa/hold/test_pause_freezer \
	tests/unit/poppa/hold/test_proc \
	tests/unit/poppa/hold/test_proc_watch \
	tests/unit/poppa/hold/test_realtime \
	tests/unit/poppa/estimate/test_attribution \
	tests/unit/poppa/estimate/test_blockfit \
	tests/unit/poppa/estimate/test_blockrate \
	tests/unit/poppa/estimate/test_blocksum \
	tests/unit/poppa/estimate/test_clipmean \
	tests/unit/poppa/estimate/test_estimator \
	tests/unit/poppa/estimate/test_estimator_series \
	tests/unit/poppa/estimate/test_estimator_state \
	tests/unit/poppa/estimate/test_estimator_tau \
	tests/unit/poppa/estimate/test_miss_model \
	tests/unit/poppa/estimate/test_sham \
	tests/unit/poppa/estimate/test_slow_refill \
	tests/unit/poppa/estimate/test_shutterlog \
	tests/unit/poppa/estimate/test_spin \
	tests/unit/poppa/counter/test_background_close \
	tests/unit/poppa/counter/test_counter \
	tests/unit/poppa/counter/test_counter_cgroup \
	tests/unit/poppa/counter/test_counter_replay \
	tests/unit/poppa/counter/test_counter_uprobe \
	tests/unit/poppa/counter/test_symbol \
	tests/unit/poppa/counter/test_timed_call \
	tests/unit/poppa/map/test_affinity \
	tests/unit/poppa/map/test_map_job \
	tests/unit/poppa/map/test_map_source \
	tests/unit/poppa/map/test_thread_counter \
	tests/unit/poppa/measure/test_hold_way \
	tests/unit/poppa/measure/test_long_credit \
	tests/unit/poppa/measure/test_overhead_limit \
	tests/unit/poppa/measure/test_overhead_model \
	tests/unit/poppa/measure/test_pace \
	tests/unit/poppa/measure/test_schedule \
	tests/unit/poppa/measure/test_shutter \
	tests/unit/poppa/measure/test_shutter_plan \
	tests/unit/poppa/measure/test_shutter_slice \
	tests/unit/poppa/measure/test_turns \
	tests/unit/poppa/report/test_node_type \
	tests/unit/poppa/report/test_sender \
	tests/unit/poppa/report/test_spool \
	tests/unit/poppa/report/test_status \
	tests/unit/poppa/node/test_jobs \
	tests/unit/poppa/node/test_jobs_account \
	tests/unit/poppa/node/test_jobs_block \
	tests/unit/poppa/node/test_jobs_map \
	tests/unit/poppa/node/test_jobs_plan \
	tests/unit/poppa/node/test_jobs_scan \
	tests/unit/poppa/node/test_jobs_status \
	tests/unit/poppa/node/test_jobs_sync \
	tests/unit/poppa/node/test_jobs_table \
	tests/unit/poppa/node/test_jobs_turns \
	tests/unit/poppa/node/test_leftovers \
	tests/unit/poppa/node/test_programs \
	tests/unit/poppa/node/test_run_dir_watch \
	tests/unit/poppa/node/test_tally \
	tests/unit/cli/ask/test_run_program \
	tests/unit/cli/ask/test_shorten_text \
	tests/unit/cli/ask/test_value_text \
	tests/unit/cli/live/test_metrics \
	tests/unit/cli/page/test_page_axis \
	tests/unit/cli/page/test_page_template
# Simulations: they judge numbers that take minutes with sanitizers, by code of which each module has a test of its own.
if !SANITIZERS
check_PROGRAMS += \
	tests/unit/scenario/test_adaptive \
	tests/unit/scenario/test_fairness \
	tests/unit/scenario/test_gaming \
	tests/unit/scenario/test_prior
endif
if HAVE_SLURM
check_PROGRAMS += tests/unit/plugins/prep_poppa/test_run_snapshot tests/unit/plugins/prep_poppa/test_usage_journal
endif
if HAVE_PFM
check_PROGRAMS += tests/unit/poppa/counter/test_counter_live
endif
if HAVE_PAPI
check_PROGRAMS += tests/unit/poppa/counter/test_counter_papi
endif
endif

SIM_TEST_LDADD = $(SIM_LIBS) $(CMOCKA_LIBS)
tests_unit_sim_test_backfill_LDADD = $(SIM_TEST_LDADD)
tests_unit_sim_test_progress_LDADD = $(SIM_TEST_LDADD)
tests_unit_sim_policy_test_assign_LDADD = $(SIM_TEST_LDADD)
tests_unit_sim_world_test_matrix_LDADD = $(SIM_TEST_LDADD)
tests_unit_sim_world_test_trace_LDADD = $(SIM_TEST_LDADD)
tests_unit_sim_test_caches_LDADD = libcaches.la $(CMOCKA_LIBS)
FARM_TEST_LDADD = libfarm.la $(CMOCKA_LIBS)
tests_unit_farm_test_farm_input_LDADD = $(FARM_TEST_LDADD)
tests_unit_farm_test_farm_journal_LDADD = $(FARM_TEST_LDADD)
tests_unit_farm_test_farm_schedule_LDADD = $(FARM_TEST_LDADD)
HORTON_TEST_LDADD = libhorton.la $(CMOCKA_LIBS) -lm
tests_unit_horton_test_change_LDADD = $(HORTON_TEST_LDADD)
tests_unit_horton_test_lookup_LDADD = $(HORTON_TEST_LDADD)
tests_unit_horton_test_table_LDADD = $(HORTON_TEST_LDADD)
tests_unit_accounting_ledgerd_test_ledger_SOURCES = \
	tests/unit/accounting/ledgerd/test_ledger.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_ledgerd_test_ledger_file_SOURCES = \
	tests/unit/accounting/ledgerd/test_ledger_file.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_ledgerd_test_ledger_prior_SOURCES = \
	tests/unit/accounting/ledgerd/test_ledger_prior.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_ledgerd_test_ledger_records_SOURCES = \
	tests/unit/accounting/ledgerd/test_ledger_records.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_ledgerd_test_ledger_schema_SOURCES = \
	tests/unit/accounting/ledgerd/test_ledger_schema.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_ledgerd_test_ledger_settlements_SOURCES = \
	tests/unit/accounting/ledgerd/test_ledger_settlements.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_ledgerd_test_ledger_status_SOURCES = \
	tests/unit/accounting/ledgerd/test_ledger_status.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_record_test_client_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=wire_munge
tests_unit_accounting_record_test_record_SOURCES = \
	tests/unit/accounting/record/test_record.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_ledgerd_test_server_SOURCES = \
	tests/unit/accounting/ledgerd/test_server.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h src/accounting/ledgerd/peer.c \
	src/accounting/ledgerd/server.c src/accounting/ledgerd/line_order.c
tests_unit_accounting_ledgerd_test_server_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=peer_look
tests_unit_accounting_ledgerd_test_service_SOURCES = \
	tests/unit/accounting/ledgerd/test_service.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_record_test_settlement_SOURCES = \
	tests/unit/accounting/record/test_settlement.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_accounting_settle_test_refunds_SOURCES = \
	tests/unit/accounting/settle/test_refunds.c tests/unit/accounting/ledger_fixture.c \
	tests/unit/accounting/ledger_fixture.h
tests_unit_poppa_estimate_test_estimator_SOURCES = \
	tests/unit/poppa/estimate/test_estimator.c tests/gen/families.c tests/gen/families.h tests/gen/gen.c \
	tests/gen/gen.h
# Their blocks have noise.
EXTRA_DIST += tests/unit/common/policy_of.h tests/unit/poppa/counter/closer_end.h \
	tests/unit/poppa/counter/group_reads.h tests/unit/poppa/noisy_block.h \
	tests/unit/poppa/spool_in_tmp.h tests/unit/poppa/waiting_process.h tests/unit/sim/world/text_file.h \
	tests/unit/accounting/bill/bill_rows.h tests/unit/striping/partners/three_classes.h \
	tests/unit/striping/partners/two_that_fight.h \
	tests/unit/striping/reuse/histograms.h \
	tests/unit/trial/beating.h tests/unit/trial/programs.h
tests_unit_common_test_askers_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_now
tests_unit_common_test_clock_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
tests_unit_poppa_counter_test_background_close_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=close,--wrap=pthread_create
tests_unit_poppa_counter_test_counter_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=counter_sys_perf_open,--wrap=counter_sys_read,--wrap=counter_cgroup_open,--wrap=counter_cgroup_holds
tests_unit_poppa_counter_test_counter_live_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=counter_sys_perf_open,--wrap=counter_sys_read
tests_unit_poppa_counter_test_counter_papi_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=PAPI_is_initialized,--wrap=PAPI_library_init,--wrap=PAPI_num_cmp_hwctrs \
	-Wl,--wrap=PAPI_get_component_info,--wrap=PAPI_create_eventset \
	-Wl,--wrap=PAPI_assign_eventset_component,--wrap=PAPI_attach,--wrap=PAPI_add_named_event \
	-Wl,--wrap=PAPI_start,--wrap=PAPI_read,--wrap=PAPI_stop,--wrap=PAPI_cleanup_eventset \
	-Wl,--wrap=PAPI_destroy_eventset
tests_unit_poppa_counter_test_counter_replay_SOURCES = \
	tests/unit/poppa/counter/test_counter_replay.c tests/gen/gen.c tests/gen/gen.h
tests_unit_poppa_counter_test_counter_uprobe_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=counter_sys_perf_open,--wrap=counter_sys_read
tests_unit_poppa_hold_test_held_release_SOURCES = \
	tests/unit/poppa/hold/test_held_release.c tests/unit/poppa/hold/pause_fixture.c \
	tests/unit/poppa/hold/pause_fixture.h
tests_unit_poppa_hold_test_pause_SOURCES = \
	tests/unit/poppa/hold/test_pause.c tests/unit/poppa/hold/pause_fixture.c \
	tests/unit/poppa/hold/pause_fixture.h
tests_unit_poppa_hold_test_pause_freezer_SOURCES = \
	tests/unit/poppa/hold/test_pause_freezer.c tests/unit/poppa/hold/pause_fixture.c \
	tests/unit/poppa/hold/pause_fixture.h
tests_unit_poppa_counter_test_symbol_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fstatfs
tests_unit_poppa_measure_test_shutter_SOURCES = \
	tests/unit/poppa/measure/test_shutter.c tests/unit/poppa/measure/shutter_fixture.c \
	tests/unit/poppa/measure/shutter_fixture.h
tests_unit_poppa_measure_test_shutter_slice_SOURCES = \
	tests/unit/poppa/measure/test_shutter_slice.c tests/unit/poppa/measure/shutter_fixture.c \
	tests/unit/poppa/measure/shutter_fixture.h
tests_unit_poppa_measure_test_shutter_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=clock_gettime,--wrap=counter_read,--wrap=counter_has_cycles,--wrap=counter_region,--wrap=counter_task_state,--wrap=counter_interrupts \
	-Wl,--wrap=proc_signal_own
tests_unit_poppa_measure_test_shutter_slice_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=counter_read,--wrap=counter_has_cycles,--wrap=counter_region,--wrap=counter_task_state,--wrap=counter_interrupts
tests_unit_poppa_map_test_map_job_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=affinity_get,--wrap=affinity_move,--wrap=proc_stat_read \
	-Wl,--wrap=affinity_cpuset,--wrap=affinity_topology,--wrap=clock_now
tests_unit_poppa_map_test_thread_counter_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=counter_sys_perf_open,--wrap=counter_sys_read,--wrap=ioctl
tests_unit_poppa_measure_test_shutter_plan_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=counter_has_cycles,--wrap=counter_has_misses
tests_unit_poppa_report_test_sender_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=client_send_records,--wrap=rename,--wrap=unlink
tests_unit_poppa_report_test_spool_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=write
tests_unit_poppa_node_test_jobs_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=counter_open,--wrap=counter_read,--wrap=counter_refresh,--wrap=counter_prepare \
	-Wl,--wrap=counter_close,--wrap=counter_kind,--wrap=counter_has_cycles,--wrap=counter_region,--wrap=counter_task_state,--wrap=counter_interrupts \
	-Wl,--wrap=counter_has_misses,--wrap=shutter_done
# The plugin with a stub in Slurm's place, so that ThreadSanitizer sees all of it.
tests_unit_plugins_job_submit_colocate_test_job_submit_colocate_SOURCES = \
	tests/unit/plugins/job_submit_colocate/test_job_submit_colocate.c \
	tests/unit/plugins/stub/plugins/compat/slurm_compat.h \
	tests/unit/plugins/stub/src/common/assoc_mgr.h \
	src/plugins/job_submit_colocate/job_request.c src/plugins/job_submit_colocate/job_submit_colocate.c \
	src/plugins/job_submit_colocate/partition_offer.c src/plugins/job_submit_colocate/site_default.c \
	src/striping/submit/colocate_option.c \
	src/striping/submit/constraint.c src/striping/submit/submission.c src/striping/lanes/lanes.c \
	src/common/settings.c src/common/settings_kept.c src/common/stripe_default.c
tests_unit_plugins_job_submit_colocate_test_job_submit_colocate_CPPFLAGS = -I$(top_srcdir)/tests/unit/plugins/stub $(AM_CPPFLAGS)
tests_unit_plugins_job_submit_colocate_test_job_submit_colocate_CFLAGS = $(AM_CFLAGS) $(TSAN_FLAGS)
tests_unit_plugins_job_submit_colocate_test_job_submit_colocate_LDFLAGS = \
	$(AM_LDFLAGS) $(TSAN_FLAGS) -Wl,--wrap=dlopen,--wrap=dlclose
# The table of jobs, with what it works on made up.
JOBS_FIXTURE = tests/unit/poppa/node/jobs_fixture.c tests/unit/poppa/node/jobs_fixture.h
JOBS_WRAPS = $(AM_LDFLAGS) -Wl,--wrap=clock_now,--wrap=counter_close,--wrap=counter_kind,--wrap=shutter_publish \
	-Wl,--wrap=shutter_lock,--wrap=shutter_lock_reading,--wrap=shutter_unlock,--wrap=shutter_cpu_ns,--wrap=shutter_turned
tests_unit_poppa_node_test_jobs_account_SOURCES = tests/unit/poppa/node/test_jobs_account.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_account_LDFLAGS = $(JOBS_WRAPS)
tests_unit_poppa_node_test_jobs_block_SOURCES = tests/unit/poppa/node/test_jobs_block.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_block_LDFLAGS = $(JOBS_WRAPS) \
	-Wl,--wrap=counter_has_cycles,--wrap=counter_has_misses,--wrap=shutter_take,--wrap=shutter_done
tests_unit_poppa_node_test_jobs_map_SOURCES = tests/unit/poppa/node/test_jobs_map.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_map_LDFLAGS = $(JOBS_WRAPS) \
	-Wl,--wrap=map_job_new,--wrap=map_job_free,--wrap=map_job_look,--wrap=map_job_active,--wrap=map_job_prepare \
	-Wl,--wrap=map_job_count,--wrap=map_job_step,--wrap=shutter_lock_quiet,--wrap=clock_own
tests_unit_poppa_node_test_jobs_plan_SOURCES = tests/unit/poppa/node/test_jobs_plan.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_plan_LDFLAGS = $(JOBS_WRAPS)
tests_unit_poppa_node_test_jobs_scan_SOURCES = tests/unit/poppa/node/test_jobs_scan.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_scan_LDFLAGS = $(JOBS_WRAPS) \
	-Wl,--wrap=find_tasks,--wrap=find_tasks_holds,--wrap=counter_open,--wrap=counter_refresh,--wrap=counter_prepare \
	-Wl,--wrap=pause_open_process,--wrap=pause_open_freezer,--wrap=shutter_idle_ns,--wrap=shutter_take
tests_unit_poppa_node_test_jobs_status_SOURCES = tests/unit/poppa/node/test_jobs_status.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_status_LDFLAGS = $(JOBS_WRAPS)
tests_unit_poppa_node_test_jobs_sync_SOURCES = tests/unit/poppa/node/test_jobs_sync.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_sync_LDFLAGS = $(JOBS_WRAPS) \
	-Wl,--wrap=find_tasks,--wrap=sender_wake,--wrap=sender_prior
tests_unit_poppa_node_test_jobs_table_SOURCES = tests/unit/poppa/node/test_jobs_table.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_table_LDFLAGS = $(JOBS_WRAPS)
tests_unit_poppa_node_test_jobs_turns_SOURCES = tests/unit/poppa/node/test_jobs_turns.c $(JOBS_FIXTURE)
tests_unit_poppa_node_test_jobs_turns_LDFLAGS = $(JOBS_WRAPS) -Wl,--wrap=pause_watch,--wrap=pause_close
tests_unit_registration_test_registration_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=readdir
tests_unit_cli_ask_test_run_program_SOURCES = \
	tests/unit/cli/ask/test_run_program.c src/cli/ask/run_program.c
tests_unit_cli_ask_test_value_text_SOURCES = tests/unit/cli/ask/test_value_text.c src/cli/ask/value_text.c
tests_unit_cli_live_test_metrics_SOURCES = tests/unit/cli/live/test_metrics.c src/cli/live/metrics.c
tests_unit_cli_ask_test_shorten_text_SOURCES = \
	tests/unit/cli/ask/test_shorten_text.c src/cli/ask/shorten_text.c
tests_unit_cli_page_test_page_axis_SOURCES = tests/unit/cli/page/test_page_axis.c src/cli/page/page_axis.c
tests_unit_cli_page_test_page_template_SOURCES = tests/unit/cli/page/test_page_template.c $(PAGE_SOURCES)
# Without the functions that the test does not call, which need slurmctld.
tests_unit_plugins_prep_poppa_test_run_snapshot_SOURCES = \
	tests/unit/plugins/prep_poppa/test_run_snapshot.c src/plugins/prep_poppa/run_snapshot.c
tests_unit_plugins_prep_poppa_test_run_snapshot_CPPFLAGS = $(MODULE_CPPFLAGS)
tests_unit_plugins_prep_poppa_test_run_snapshot_CFLAGS = $(AM_CFLAGS) -ffunction-sections
tests_unit_plugins_prep_poppa_test_run_snapshot_LDFLAGS = $(AM_LDFLAGS) -Wl,--gc-sections
tests_unit_plugins_prep_poppa_test_usage_journal_SOURCES = \
	tests/unit/plugins/prep_poppa/test_usage_journal.c src/plugins/prep_poppa/usage_journal.c \
	tests/unit/accounting/ledger_fixture.c tests/unit/accounting/ledger_fixture.h
tests_unit_plugins_prep_poppa_test_usage_journal_CPPFLAGS = $(MODULE_CPPFLAGS) -I$(top_srcdir)/tests
tests_unit_plugins_prep_poppa_test_usage_journal_LDFLAGS = \
	$(AM_LDFLAGS) -Wl,--wrap=refunds_look,--wrap=refunds_enter,--wrap=write
tests_unit_scenario_test_fairness_SOURCES = tests/unit/scenario/test_fairness.c $(fairness_sources)
tests_unit_scenario_test_prior_SOURCES = \
	tests/unit/scenario/test_prior.c tests/gen/families.c tests/gen/families.h tests/gen/gen.c tests/gen/gen.h

TESTS += tests/unit/scenario/test_circles.sh tests/unit/scenario/test_libraries.sh tests/unit/scenario/test_workloads.sh
EXTRA_DIST += tests/unit/scenario/test_circles.sh tests/unit/scenario/test_libraries.sh \
	tests/unit/scenario/test_workloads.sh

# The heartbeat in Fortran and of MPI programs.
AM_TESTS_ENVIRONMENT += CC='$(CC)' FC='$(FC)' MPICC='$(MPICC)' MPIFC='$(MPIFC)'; export CC FC MPICC MPIFC;
TESTS += tests/unit/heartbeat/test_heartbeat_mpi.sh tests/unit/heartbeat/test_mpi_wait.sh
EXTRA_DIST += tests/unit/heartbeat/test_heartbeat_mpi.sh tests/unit/heartbeat/test_mpi_wait.sh \
	tests/unit/heartbeat/fake_mpi.c tests/unit/heartbeat/fake_mpi_user.c \
	tests/unit/heartbeat/fortran.f90 \
	tests/unit/heartbeat/module.c tests/unit/heartbeat/module_user.c \
	tests/unit/heartbeat/mpi_calls.F90 \
	tests/unit/heartbeat/own_page.f90 tests/unit/heartbeat/tool.c

if HAVE_MPICH
noinst_PROGRAMS += tests/unit/heartbeat/mpich_calls
endif
tests_unit_heartbeat_mpich_calls_SOURCES = tests/unit/heartbeat/mpi_calls.c
tests_unit_heartbeat_mpich_calls_CFLAGS = $(AM_CFLAGS) $(MPICH_CFLAGS)
tests_unit_heartbeat_mpich_calls_LDADD = $(POPPAD_LIBS) $(MPICH_LIBS) -ldl -lpthread
if HAVE_MPICC
noinst_PROGRAMS += tests/unit/heartbeat/mpi_calls tests/unit/heartbeat/waiting tests/unit/heartbeat/waiting_meter
endif
tests_unit_heartbeat_mpi_calls_SOURCES = tests/unit/heartbeat/mpi_calls.c
tests_unit_heartbeat_mpi_calls_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_unit_heartbeat_mpi_calls_LDADD = $(POPPAD_LIBS) $(MPI_LIBS) -ldl -lpthread
tests_unit_heartbeat_waiting_SOURCES = tests/unit/heartbeat/waiting.c tests/unit/heartbeat/waiting.h
tests_unit_heartbeat_waiting_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
tests_unit_heartbeat_waiting_LDADD = $(MPI_LIBS)
tests_unit_heartbeat_waiting_meter_SOURCES = tests/unit/heartbeat/waiting_meter.c tests/unit/heartbeat/waiting.h $(METER_SOURCES)
tests_unit_heartbeat_waiting_meter_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_unit_heartbeat_waiting_meter_LDADD = $(POPPAD_LIBS)
