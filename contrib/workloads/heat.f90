! SPDX-License-Identifier: GPL-2.0-or-later
! MPI program in Fortran that publishes its progress: heat spreads in a plate, row by row.
!
! The example for poppa_heartbeat(3) in a program that one can change. It is not built with the suite:
!
!     mpifort -O2 -o heat poppa_heartbeat.f90 heat.f90 -lpoppa-heartbeat
!     mpirun -n 2 heat [STEPS [CELLS]]
!
! prints the heat that is left in the plate, which depends on steps and cells only.
program heat
  use mpi
  use poppa_heartbeat
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), allocatable :: now(:, :), next(:, :)
  real(real64) :: mine, all
  integer :: rank, ranks, error, steps, cells, first, rows, up, down, step, row

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  steps = argument(1, 1000)
  cells = argument(2, 512)

  ! This rank's columns of memory are rows of the plate, with a neighbour's row at either end.
  first = cells * rank / ranks
  rows = cells * (rank + 1) / ranks - first
  up = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  down = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  allocate (now(cells, 0:rows + 1), next(cells, 0:rows + 1))
  now = 0
  do row = 1, rows
    if (abs(first + row - cells / 2) <= cells / 8) now(cells / 4:cells / 2, row) = 1
  end do
  next = now

  ! Each rank publishes. Whether that has worked makes no difference to the program.
  error = poppa_heartbeat_open()
  do step = 1, steps
    call MPI_Sendrecv(now(:, 1), cells, MPI_DOUBLE_PRECISION, up, 1, &
         now(:, rows + 1), cells, MPI_DOUBLE_PRECISION, down, 1, &
         MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv(now(:, rows), cells, MPI_DOUBLE_PRECISION, down, 2, &
         now(:, 0), cells, MPI_DOUBLE_PRECISION, up, 2, &
         MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    do row = 1, rows
      next(2:cells - 1, row) = now(2:cells - 1, row) + 0.2_real64 * ( &
           now(1:cells - 2, row) + now(3:cells, row) + now(2:cells - 1, row - 1) + &
           now(2:cells - 1, row + 1) - 4 * now(2:cells - 1, row))
      ! Rows are short: many beats a millisecond, and none while waiting above.
      call poppa_heartbeat_add(1)
    end do
    call move_on()
  end do
  call poppa_heartbeat_close()

  mine = sum(now(:, 1:rows))
  call MPI_Reduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0, a, i0, a, f0.6)', 'heat: ', cells, ' x ', cells, ' cells, heat ', all
  call MPI_Finalize(error)
contains
  subroutine move_on()
    real(real64), allocatable :: old(:, :)
    call move_alloc(now, old)
    call move_alloc(next, now)
    call move_alloc(old, next)
  end subroutine

  integer function argument(n, default)
    integer, intent(in) :: n, default
    character(32) :: text
    integer :: status
    argument = default
    call get_command_argument(n, text, status=status)
    if (status /= 0) return
    read (text, *, iostat=status) argument
    if (status == 0 .and. argument >= 4) return
    if (rank == 0) print '(a)', 'heat: ' // trim(text) // ' is not a number from 4 on'
    call MPI_Finalize(status)
    error stop 2
  end function
end program
